"""Large bodies where signatures are required: the head is verified before the body, the body while it comes."""

from __future__ import annotations

import hashlib
import http.client
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from redrive.core.log import SilentLog
from redrive.gateway.identity import RootKey
from redrive.gateway.server import Options, Server, running
from redrive.wire.message import HttpRequest
from redrive.wire.signatures.chunks import ChunkSigner
from redrive.wire.signatures.verify import sign, signing_key

KEY = RootKey("AKIDEXAMPLE00000001", "secret", "000000000000")
BODY = bytes(range(251)) * 2_000
REGION = "us-east-1"


class Bucket:
    """A bucket on a server, and the requests to it, signed with a secret."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._folder = folder / "redrive.sqlite-bodies"
        self.stamp = datetime.fromtimestamp(1_700_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")

    def ask(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], *, secret: str = "secret"
    ) -> tuple[int, str]:  # fmt: skip
        """Status, and the code of an error. `body` is sent as it is."""
        signed = self.signed(method, path, headers, secret)
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=20)
        try:
            connection.request(method, path, body, signed)
            response = connection.getresponse()
            content = response.read().decode("latin-1")
        finally:
            connection.close()
        code = re.search("<Code>(.*)</Code>", content)
        return response.status, code[1] if code else ""

    def ask_unsigned(self, path: str, size: int) -> int:
        """The status of an answer to a PUT whose body does not come before it is asked for."""
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=20)
        try:
            connection.request("PUT", path, headers={"content-length": str(size), "expect": "100-continue"})
            return connection.getresponse().status
        finally:
            connection.close()

    def signed(self, method: str, path: str, headers: Mapping[str, str], secret: str) -> dict[str, str]:
        whole = {"host": f"127.0.0.1:{self._server.port}", "x-amz-date": self.stamp, **headers}
        request = HttpRequest(method, path, "", whole, b"")
        if re.fullmatch("[0-9a-f]{64}", headers.get("x-amz-content-sha256", "")):
            # The hash that the caller declares is what is signed, whether it is that of the body or not.
            request = HttpRequest(method, path, "", {**whole}, BODY)
        authorization = sign(
            request, access_key_id=KEY.access_key_id, secret=secret, region=REGION, service="s3", signed_headers=whole
        )
        return {**whole, "authorization": authorization}

    def files(self) -> list[str]:
        return [path.name for path in self._folder.rglob("*") if path.is_file()]


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    options = Options(port=0, data=tmp_path, require_signatures=True, keys=(KEY,))
    with running(options, SilentLog(), machine=lambda: 1_700_000_000_000) as server:
        made = Bucket(server, tmp_path)
        assert made.ask("PUT", "/bench", b"", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}) == (200, "")
        yield made


def test_body_whose_head_is_not_genuine_is_refused_before_it_is_written(bucket: Bucket) -> None:
    headers = {"x-amz-content-sha256": "UNSIGNED-PAYLOAD", "expect": "100-continue"}

    status, _ = bucket.ask("PUT", "/bench/key", b"", {**headers, "content-length": str(len(BODY))}, secret="wrong")

    assert status == 403
    assert bucket.files() == []


def test_large_body_of_a_stranger_is_not_written(bucket: Bucket) -> None:
    """A policy may allow strangers to put objects, but only the step knows it, which comes after the body."""
    assert bucket.ask_unsigned("/bench/key", 64 * 1024 * 1024 + 1) == 413
    assert bucket.files() == []


def test_declared_hash_is_held_against_what_came(bucket: Bucket) -> None:
    headers = {"x-amz-content-sha256": hashlib.sha256(BODY).hexdigest()}

    assert bucket.ask("PUT", "/bench/key", BODY, headers) == (200, "")
    assert len(bucket.files()) == 1
    assert bucket.ask("PUT", "/bench/other", BODY[:-1] + b"x", headers) == (400, "XAmzContentSHA256Mismatch")


def test_signatures_of_chunks_are_verified_while_they_come(bucket: Bucket) -> None:
    headers = {
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "content-encoding": "aws-chunked",
        "x-amz-decoded-content-length": "200000",
    }  # fmt: skip
    seed = bucket.signed("PUT", "/bench/key", headers, "secret")["authorization"].rpartition("Signature=")[2]
    key = signing_key("secret", bucket.stamp[:8], REGION, "s3")
    signer = ChunkSigner(key, bucket.stamp, f"{bucket.stamp[:8]}/{REGION}/s3/aws4_request", seed)
    framed, previous = b"", seed
    for part in (BODY[:100_000], BODY[100_000:200_000], b""):
        previous = signer.chunk(part, previous)
        framed += b"%x;chunk-signature=%b\r\n%b\r\n" % (len(part), previous.encode(), part)

    assert bucket.ask("PUT", "/bench/key", framed, headers) == (200, "")
    assert bucket.ask("PUT", "/bench/key", framed.replace(BODY[:50], b"x" * 50, 1), headers) == (
        403, "SignatureDoesNotMatch",
    )  # fmt: skip
