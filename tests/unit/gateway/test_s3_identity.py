"""Who calls S3: signatures of both versions, in headers and URLs, and nobody at all."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import botocore.auth
import pytest
import time_machine
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from redrive.core.entropy import SeededEntropy
from redrive.core.log import SilentLog
from redrive.core.sessions import Issuer
from redrive.gateway.chain import Gateway
from redrive.gateway.identity import Identity, RootKey
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models

ACCOUNT = "000000000000"
KEY, SECRET = "root-key", "root-secret"
HOST = "127.0.0.1:4566"
MODELS = Models()


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("s3", "CreateBucket", Bucket="pictures")
    world.call("s3", "PutObject", Bucket="pictures", Key="a b", Body=b"hello")
    yield world
    world.close()


def gateway(world: World, *, requires_signatures: bool) -> Gateway:
    identity = Identity(
        Issuer(world.store.secret), account=ACCOUNT, clocks=[world.clock],
        root_keys=[RootKey(KEY, SECRET, ACCOUNT)], requires_signatures=requires_signatures,
    )  # fmt: skip
    return Gateway(world.engine, MODELS, identity=identity, entropy=SeededEntropy(2), log=SilentLog())


def signed(
    world: World, method: str, url: str, *, by: str | type[Any], headers: dict[str, str] | None = None, **options: Any
) -> HttpRequest:
    """A request as a signer of botocore makes it at the world's time."""
    request = AWSRequest(method=method, url=f"http://{HOST}{url}", headers=headers or {})
    kind = getattr(botocore.auth, by) if isinstance(by, str) else by
    scope = () if "V1" in kind.__name__ else ("s3", "us-east-1")
    signer = kind(Credentials(KEY, SECRET), *scope, **options)
    with time_machine.travel(datetime.fromtimestamp(world.now / 1000, UTC), tick=False):
        signer.add_auth(request)
    prepared = request.prepare()
    target = urlsplit(prepared.url)
    found = {name.lower(): one if isinstance(one, str) else one.decode() for name, one in prepared.headers.items()}
    return HttpRequest(method, target.path, target.query, {"host": HOST} | found, b"")


def told(response: HttpResponse) -> tuple[int, str, dict[str, str | None]]:
    """The status, the code and the elements of an error."""
    elements = {one.tag: one.text for one in ET.fromstring(response.body.decode())}
    return response.status, elements["Code"] or "", elements


SIGNERS = [
    ("S3SigV4Auth", {}),
    ("S3SigV4QueryAuth", {"expires": 60}),
    ("HmacV1Auth", {}),
    ("HmacV1QueryAuth", {"expires": 60}),
]


@pytest.mark.parametrize(("by", "options"), SIGNERS)
def test_signature_of_either_version_is_verified(world: World, by: str, options: dict[str, Any]) -> None:
    strict = gateway(world, requires_signatures=True)
    request = signed(world, "GET", "/pictures/a%20b", by=by, **options)

    assert strict.respond(request).body == b"hello"

    other = HttpRequest("GET", "/pictures/other", request.query, request.headers, b"")
    status, code, elements = told(strict.respond(other))
    assert (status, code, elements["AWSAccessKeyId"]) == (403, "SignatureDoesNotMatch", KEY)
    assert elements["StringToSign"]
    assert bytes.fromhex(elements["StringToSignBytes"] or "").decode() == elements["StringToSign"]


@pytest.mark.parametrize(("by", "options"), [SIGNERS[1], SIGNERS[3]])
@pytest.mark.parametrize("requires_signatures", [True, False])
def test_presigned_url_expires_everywhere(
    world: World, by: str, options: dict[str, Any], *, requires_signatures: bool
) -> None:
    """Everywhere, since the tests of clients wait for that."""
    request = signed(world, "GET", "/pictures/a%20b", by=by, **options)
    server = gateway(world, requires_signatures=requires_signatures)
    world.advance(seconds=60)
    assert server.respond(request).status == 200

    world.advance(seconds=1)
    status, code, elements = told(server.respond(request))

    assert (status, code, elements["Message"]) == (403, "AccessDenied", "Request has expired")
    assert (elements["Expires"], elements["ServerTime"]) == ("2025-01-01T00:01:00Z", "2025-01-01T00:01:01Z")


MISSING = (
    "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, "
    "X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
)
MALFORMED = "Error parsing the X-Amz-Credential parameter; the Credential is mal-formed"
V2_NEEDS = "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("X-Amz-Expires", None, MISSING),
        ("X-Amz-Credential", None, MISSING),
        ("X-Amz-Signature", None, MISSING),
        ("X-Amz-Algorithm", "HMAC", "X-Amz-Algorithm only supports"),
        (
            "X-Amz-Credential",
            "a/20250101/s3",
            "Error parsing the X-Amz-Credential parameter; the Credential is mal-formed",
        ),
        ("X-Amz-Date", "today", "X-Amz-Date must be in the ISO8601 Long Format"),
        ("X-Amz-Expires", "soon", "X-Amz-Expires should be a number"),
        ("X-Amz-Expires", "-1", "X-Amz-Expires must be non-negative"),
        ("X-Amz-Expires", "604801", "X-Amz-Expires must be less than a week (in seconds)"),
    ],
)
def test_malformed_presigned_url_is_named(world: World, name: str, value: str | None, message: str) -> None:
    given = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": "a/20250101/us-east-1/s3/aws4_request",
        "X-Amz-Signature": "00", "X-Amz-Date": "20250101T000000Z", "X-Amz-SignedHeaders": "host", "X-Amz-Expires": "60",
    } | {name: value}  # fmt: skip
    query = "&".join(f"{key}={text}" for key, text in given.items() if text is not None)

    status, code, elements = told(
        gateway(world, requires_signatures=False).respond(HttpRequest("GET", "/pictures/a", query, {"host": HOST}, b""))
    )

    assert (status, code) == (400, "AuthorizationQueryParametersError")
    assert (elements["Message"] or "").startswith(message)


def test_headers_of_s3_must_be_signed_in_a_url(world: World) -> None:
    request = signed(world, "PUT", "/pictures/a", by="S3SigV4QueryAuth", expires=60)
    added = {"x-amz-acl": "public-read", "x-amz-tagging": "a=b", "content-type": "text/plain"}
    changed = HttpRequest("PUT", request.path, request.query, dict(request.headers) | added, b"")

    status, code, elements = told(gateway(world, requires_signatures=False).respond(changed))

    assert (status, code, elements["HeadersNotSigned"]) == (403, "AccessDenied", "x-amz-acl, x-amz-tagging")


def test_url_of_version_2_needs_all_its_parameters(world: World) -> None:
    request = HttpRequest("GET", "/pictures/a", "AWSAccessKeyId=a&Expires=1", {"host": HOST}, b"")

    status, code, elements = told(gateway(world, requires_signatures=False).respond(request))

    assert (status, code) == (403, "AccessDenied")
    assert (
        elements["Message"]
        == "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters"
    )


def test_old_signature_is_too_skewed(world: World) -> None:
    request = signed(world, "GET", "/pictures/a%20b", by="S3SigV4Auth")
    world.advance(seconds=901)

    status, code, elements = told(gateway(world, requires_signatures=True).respond(request))

    assert (status, code, elements["MaxAllowedSkewMilliseconds"]) == (403, "RequestTimeTooSkewed", "900000")


@pytest.mark.parametrize("requires_signatures", [True, False])
def test_nobody_may_do_what_the_policy_of_the_bucket_allows(world: World, *, requires_signatures: bool) -> None:
    server = gateway(world, requires_signatures=requires_signatures)
    read, write = (HttpRequest(method, "/pictures/a%20b", "", {"host": HOST}, b"") for method in ("GET", "PUT"))
    assert told(server.respond(read))[:2] == (403, "AccessDenied")
    assert told(server.respond(HttpRequest("PUT", "/another", "", {"host": HOST}, b"")))[:2] == (403, "AccessDenied")

    allow_reading(world)

    assert server.respond(read).body == b"hello"
    assert told(server.respond(write))[:2] == (403, "AccessDenied")


def allow_reading(world: World) -> None:
    """Allow everybody to read the objects, by the bucket's policy."""
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::pictures/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    def put(tx: Any) -> None:
        bucket = tx.resources.get(Bucket, BUCKETS, "pictures")
        tx.resources.put(BUCKETS, dataclasses.replace(bucket, policy=policy, settings={}))

    world.store.run(put)


def test_missing_bucket_is_a_bare_404_to_head(world: World) -> None:
    """As every error of HEAD: the status alone says what is wrong."""
    request = signed(world, "HEAD", "/nowhere", by="S3SigV4Auth")

    answer = gateway(world, requires_signatures=True).respond(request)

    assert (answer.status, answer.body) == (404, b"")
    assert "Content-Type" not in dict(answer.headers)


def test_signed_chunks_are_verified(world: World) -> None:
    """The signature of the head is the seed; each chunk's signature covers the one before."""
    announced = {
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "x-amz-decoded-content-length": "5",
        "content-encoding": "aws-chunked",
    }  # fmt: skip
    strict = gateway(world, requires_signatures=True)

    class Declaring(botocore.auth.S3SigV4Auth):  # type: ignore[misc]
        def payload(self, request: AWSRequest) -> str:
            return announced["x-amz-content-sha256"]

    head = signed(world, "PUT", "/pictures/chunked", by=Declaring, headers=announced)
    body = chunks(head, [b"hello", b""])
    request = HttpRequest("PUT", head.path, "", head.headers, body)

    assert strict.respond(request).status == 200
    assert world.call("s3", "GetObject", Bucket="pictures", Key="chunked")["Body"] == b"hello"

    changed = HttpRequest("PUT", head.path, "", head.headers, body.replace(b"hello", b"hallo"))
    assert told(strict.respond(changed))[:2] == (403, "SignatureDoesNotMatch")


def chunks(head: HttpRequest, pieces: list[bytes]) -> bytes:
    """The body in signed chunks, by the documentation, and not by the code under test."""
    stamp = head.headers["x-amz-date"]
    scope = f"{stamp[:8]}/us-east-1/s3/aws4_request"
    key = b"AWS4" + SECRET.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    previous = head.headers["authorization"].rpartition("Signature=")[2]
    body, empty = b"", hashlib.sha256(b"").hexdigest()
    for piece in pieces:
        text = f"AWS4-HMAC-SHA256-PAYLOAD\n{stamp}\n{scope}\n{previous}\n{empty}\n{hashlib.sha256(piece).hexdigest()}"
        previous = hmac.new(key, text.encode(), "sha256").hexdigest()
        body += f"{len(piece):x};chunk-signature={previous}\r\n".encode() + piece + b"\r\n"
    return body


@pytest.mark.parametrize(("address", "status"), [("203.0.113.9", 200), ("127.0.0.1", 403)])
def test_policy_of_a_bucket_sees_the_address_of_a_client(address: str, status: int, world: World) -> None:
    statement = {
        "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::pictures/*",
        "Condition": {"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}},
    }  # fmt: skip
    world.call("s3", "PutBucketPolicy", Bucket="pictures", Policy=json.dumps({"Statement": [statement]}))
    request = HttpRequest("GET", "/pictures/a%20b", "", {"host": HOST}, b"", source_ip=address)

    assert gateway(world, requires_signatures=True).respond(request).status == status
