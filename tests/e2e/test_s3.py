"""S3 as its clients use it, through the death of the server: what was answered is there, what was begun can go on."""

from __future__ import annotations

import hashlib
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import BotoCoreError, ClientError

from tests.e2e.conftest import ServerProcess

LARGE = bytes(range(251)) * 40_000  # 10 MB: the aws CLI and boto3 divide it into two parts.
PARTS = TransferConfig(multipart_threshold=5 * 1024**2, multipart_chunksize=5 * 1024**2)


def md5(body: bytes) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


class Writer(threading.Thread):
    """Puts numbered objects, each new, large and small by turns, until the server is gone."""

    def __init__(self, s3: Any, name: str) -> None:
        super().__init__()
        self.accepted: dict[str, str] = {}
        self._s3, self._name = s3, name

    def run(self) -> None:
        number = 0
        while True:
            number += 1
            key = f"load/{self._name}/{number}"
            body = f"{key} ".encode() * (20_000 if number % 2 else 1)
            try:
                self._s3.put_object(Bucket="versions", Key=key, Body=body, IfNoneMatch="*")
            except (BotoCoreError, ClientError):
                return
            self.accepted[key] = md5(body)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass
class Killed:
    """What clients did with a server before it was killed, and the server that came back."""

    server: ServerProcess
    folder: Path
    accepted: dict[str, str]
    first: dict[str, Any]
    upload: dict[str, Any]
    part: str

    @property
    def s3(self) -> Any:
        return self.server.client("s3")

    def cli(self, *arguments: str) -> str:
        """Run `aws s3`; its first version does not read this service's endpoint from the environment."""
        return str(self.server.aws("s3", "--endpoint-url", self.server.endpoint_url, *arguments)).strip()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    """A server that is killed while objects are put, and comes back."""
    root = tmp_path_factory.mktemp("s3")
    folder = root / "folder"
    (folder / "a" / "deep").mkdir(parents=True)
    (folder / "large.bin").write_bytes(LARGE)
    for name in ("empty", "a/ä b+c&d%20?.txt", "a/deep/日本.txt"):
        (folder / name).write_text("" if name == "empty" else name)
    one = Killed(ServerProcess("--data", str(root / "data")), folder, {}, {}, {}, "")
    try:
        begin(one)
        put_until_killed(one)
        one.server = ServerProcess("--data", str(root / "data"))
        yield one
    finally:
        one.server.kill()


def begin(one: Killed) -> None:
    """A folder by the aws CLI, a version, and a multipart upload with one part."""
    s3 = one.s3
    for bucket in ("files", "versions"):
        s3.create_bucket(Bucket=bucket)
    one.cli("sync", str(one.folder), "s3://files/tree", "--quiet")
    s3.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    one.first = s3.put_object(Bucket="versions", Key="k", Body=b"1", IfNoneMatch="*")
    begun = s3.create_multipart_upload(Bucket="versions", Key="parts")
    one.upload = {"Bucket": "versions", "Key": "parts", "UploadId": begun["UploadId"]}
    one.part = s3.upload_part(**one.upload, PartNumber=1, Body=LARGE)["ETag"]


def put_until_killed(one: Killed) -> None:
    writers = [Writer(one.s3, name) for name in ("x", "y")]
    for writer in writers:
        writer.start()
    sqs = one.server.client("sqs")
    while sum(len(writer.accepted) for writer in writers) < 60:
        sqs.list_queues()
    one.server.kill()
    for writer in writers:
        writer.join()
        one.accepted |= writer.accepted


def test_folder_of_the_aws_cli_comes_back_and_is_copied_and_presigned(killed: Killed, tmp_path: Path) -> None:
    killed.cli("sync", "s3://files/tree", str(tmp_path / "back"), "--quiet")
    killed.cli("cp", "s3://files/tree/large.bin", "s3://files/copy.bin", "--quiet")
    url = killed.cli("presign", "s3://files/copy.bin")

    assert contents(tmp_path / "back") == contents(killed.folder)
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.read() == LARGE


def test_every_object_that_was_accepted_survives_kill_9_under_load(killed: Killed) -> None:
    """An object that was put when the server died may be there, or not; no other is there."""
    s3 = killed.s3
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="versions", Prefix="load/")
    kept = {one["Key"]: one["ETag"].strip('"') for page in pages for one in page["Contents"]}

    assert killed.accepted.items() <= kept.items()
    assert len(kept) <= len(killed.accepted) + 2
    assert {key: md5(s3.get_object(Bucket="versions", Key=key)["Body"].read()) for key in kept} == kept


def test_conditions_and_versions_hold_after_kill_9(killed: Killed) -> None:
    s3, first = killed.s3, killed.first
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket="versions", Key="k", Body=b"2", IfNoneMatch="*")
    s3.put_object(Bucket="versions", Key="k", Body=b"2", IfMatch=first["ETag"])

    old = s3.get_object(Bucket="versions", Key="k", VersionId=first["VersionId"])["Body"].read()
    assert (old, s3.get_object(Bucket="versions", Key="k")["Body"].read()) == (b"1", b"2")


def test_multipart_upload_that_was_begun_before_kill_9_is_completed(killed: Killed) -> None:
    s3, upload = killed.s3, killed.upload
    last = s3.upload_part(**upload, PartNumber=2, Body=b"end")["ETag"]
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in ((1, killed.part), (2, last))]
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})

    found = BytesIO()
    s3.download_fileobj("versions", "parts", found, Config=PARTS)
    assert found.getvalue() == LARGE + b"end"
