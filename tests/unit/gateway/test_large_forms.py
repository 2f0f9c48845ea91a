"""Forms with large files, over a real socket: written while they come, once their policy is judged."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import boto3
import pytest
import time_machine
from botocore.config import Config

from redrive.core.log import SilentLog
from redrive.gateway.identity import RootKey
from redrive.gateway.server import Options, Server, running

NOW = 1_700_000_000_000
KEY = RootKey("AKIDEXAMPLE00000001", "secret", "000000000000")
LARGE = bytes(range(256)) * 20_000


class House:
    """A server with the bucket `pictures`."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder = folder / "redrive.sqlite-bodies"
        self.port = server.port
        self.s3 = self.client(f"http://127.0.0.1:{server.port}", style="path")
        with at_noon():
            self.s3.create_bucket(Bucket="pictures")

    @staticmethod
    def client(endpoint: str, *, style: Literal["path", "virtual"]) -> Any:
        return boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=KEY.access_key_id,
            aws_secret_access_key=KEY.secret,
            config=Config(signature_version="s3v4", s3={"addressing_style": style}),
        )  # fmt: skip

    def files(self) -> int:
        return sum(path.is_file() for path in self.folder.rglob("*"))

    def post(self, content: bytes, *, host: str = "", secret: str = "", **options: Any) -> int:
        """The status of the answer to a form that boto3 has signed."""
        with at_noon():
            fields = self.s3.generate_presigned_post("pictures", "in/${filename}", **options)["fields"]
        fields |= {"x-amz-signature": secret} if secret else {}
        body = b"".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        )
        body += b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + content + b"\r\n--b--\r\n"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            headers = {"Content-Type": "multipart/form-data; boundary=b"} | ({"Host": host} if host else {})
            connection.request("POST", "/" if host else "/pictures", body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def read(self) -> bytes:
        with at_noon():
            found: bytes = self.s3.get_object(Bucket="pictures", Key="in/f")["Body"].read()
        return found


def at_noon() -> time_machine.travel:
    """The client's clock is the server's."""
    return time_machine.travel(datetime.fromtimestamp(NOW / 1000, UTC), tick=False)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    options = Options(port=0, data=tmp_path, require_signatures=True, keys=(KEY,))
    with running(options, SilentLog(), machine=lambda: NOW) as server:
        yield House(server, tmp_path)


@pytest.mark.parametrize("host", ["", "pictures.localhost", "pictures.s3.localhost"])
def test_large_file_of_a_form_is_written_while_it_comes(house: House, host: str) -> None:
    assert house.post(LARGE, host=host) == 204
    assert house.files() == 1
    assert house.read() == LARGE


def test_policy_of_a_form_is_judged_before_anything_is_written(house: House) -> None:
    assert house.post(LARGE, secret="0" * 64) == 403
    assert house.files() == 0


def test_file_that_is_too_large_for_its_policy_is_deleted(house: House) -> None:
    conditions = [["content-length-range", 0, len(LARGE) - 1]]

    assert house.post(LARGE, Conditions=conditions) == 400
    assert house.post(LARGE[:-1], Conditions=conditions) == 204
    assert house.read() == LARGE[:-1]


def test_large_body_to_the_host_of_a_bucket_is_written_while_it_comes(house: House) -> None:
    with at_noon():
        of_host = house.client(f"http://s3.localhost:{house.port}", style="virtual")
        url = of_host.generate_presigned_url("put_object", Params={"Bucket": "pictures", "Key": "in/f"})
    host, slash, path = url.removeprefix("http://").partition("/")
    assert host == f"pictures.s3.localhost:{house.port}"
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=20)
    try:
        connection.request("PUT", slash + path, LARGE, {"Host": host})
        assert connection.getresponse().status == 200
    finally:
        connection.close()
    assert house.read() == LARGE
