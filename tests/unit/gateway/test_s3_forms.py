"""Objects that a form brings: what boto3 presigns is accepted, and the policy decides about everything else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

import boto3
import pytest
import time_machine
from botocore.config import Config

from redrive.gateway.chain import Gateway
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from tests.unit.gateway.test_s3_identity import HOST, KEY, SECRET, gateway

BOUNDARY = "----a1b2"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("s3", "CreateBucket", Bucket="pictures")
    yield world
    world.close()


@pytest.fixture
def server(world: World) -> Gateway:
    return gateway(world, requires_signatures=True)


def presigned(world: World, key: str, *, version: str = "s3v4", **options: Any) -> dict[str, str]:
    """The fields that boto3 makes for a form."""
    client = boto3.client(
        "s3", endpoint_url=f"http://{HOST}", region_name="us-east-1", aws_access_key_id=KEY,
        aws_secret_access_key=SECRET, config=Config(signature_version=version),
    )  # fmt: skip
    with time_machine.travel(datetime.fromtimestamp(world.now / 1000, UTC), tick=False):
        made: dict[str, str] = client.generate_presigned_post("pictures", key, ExpiresIn=60, **options)["fields"]
    return made


def post(fields: Mapping[str, str], content: bytes | None = b"hello", *, file_name: str = "me.png") -> HttpRequest:
    body = b"".join(
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    )
    if content is not None:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file_name}"\r\n'
        body += head.encode() + b"Content-Type: image/png\r\n\r\n" + content + b"\r\n"
    body += f"--{BOUNDARY}--\r\n".encode()
    headers = {"host": HOST, "content-type": f"multipart/form-data; boundary={BOUNDARY}"}
    return HttpRequest("POST", "/pictures", "", headers, body)


def told(response: HttpResponse) -> tuple[int, str, str]:
    """The status, the code and the message of an error."""
    root = ET.fromstring(response.body.decode())
    return response.status, root.findtext("Code", ""), root.findtext("Message", "")


@pytest.mark.parametrize("version", ["s3v4", "s3"])
@pytest.mark.parametrize("content", [b"", b"hello", b"\r\n--x\r\n\r\n\0\xff" * 9])
def test_form_of_boto3_brings_an_object(world: World, server: Gateway, version: str, content: bytes) -> None:
    fields = {"Content-Type": "text/x", "x-amz-meta-color": "red"}
    conditions = [{name: value} for name, value in fields.items()]
    made = presigned(world, "in/${filename}", version=version, Fields=dict(fields), Conditions=conditions)

    answer = server.respond(post(made, content, file_name="ä b.png"))

    assert (answer.status, answer.body) == (204, b"")
    found = world.call("s3", "GetObject", Bucket="pictures", Key="in/ä b.png")
    assert (found["Body"], found["ContentType"], found["Metadata"]) == (content, "text/x", {"color": "red"})


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_policy_must_be_signed(world: World, server: Gateway, version: str) -> None:
    fields = presigned(world, "a", version=version)
    fields["policy"] = base64.b64encode(
        json.dumps({"expiration": "2099-01-01T00:00:00Z", "conditions": []}).encode()
    ).decode()

    assert told(server.respond(post(fields)))[:2] == (403, "SignatureDoesNotMatch")


def test_answer_is_the_one_that_the_form_wishes(world: World, server: Gateway) -> None:
    def answer(**fields: str) -> HttpResponse:
        made = presigned(
            world, "a&b", Fields=dict(fields), Conditions=[{name: value} for name, value in fields.items()]
        )
        return server.respond(post(made))

    assert answer(success_action_status="200").status == 200
    assert answer(success_action_status="404").status == 204
    created = answer(success_action_status="201")
    root = ET.fromstring(created.body.decode())
    assert (created.status, root.tag, root.findtext("Key")) == (201, "PostResponse", "a&b")
    assert root.findtext("ETag") == dict(created.headers)["ETag"]
    sent_on = dict(answer(success_action_redirect="http://localhost/done?x=1").headers)["Location"]
    assert sent_on.startswith("http://localhost/done?x=1&bucket=pictures&key=a%26b&etag=%22")


@pytest.mark.parametrize(
    ("conditions", "fields", "status", "code", "message"),
    [
        ([{"acl": "private"}], {"acl": "public-read"}, 403, "AccessDenied",
         'Invalid according to Policy: Policy Condition failed: ["eq", "$acl", "private"]'),
        ([["starts-with", "$key", "u/"]], {}, 403, "AccessDenied",
         'Invalid according to Policy: Policy Condition failed: ["starts-with", "$key", "u/"]'),
        ([["eq", "$Content-Type", "text/a"]], {"Content-Type": "text/A"}, 403, "AccessDenied",
         'Invalid according to Policy: Policy Condition failed: ["eq", "$Content-Type", "text/a"]'),
        ([], {"x-amz-meta-a": "1"}, 403, "AccessDenied",
         "Invalid according to Policy: Extra input fields: x-amz-meta-a"),
        ([["content-length-range", 1, 4]], {}, 400, "EntityTooLarge",
         "Your proposed upload exceeds the maximum allowed size"),
        ([["content-length-range", 6, 9]], {}, 400, "EntityTooSmall",
         "Your proposed upload is smaller than the minimum allowed size"),
        ([["like", "$key", "a"]], {}, 400, "InvalidPolicyDocument", "Invalid Policy: Invalid Conditions element."),
    ],
)  # fmt: skip
def test_policy_decides_what_a_form_may_bring(
    world: World, server: Gateway, conditions: list[Any], fields: dict[str, str], status: int, code: str, message: str
) -> None:
    made = presigned(world, "a", Conditions=conditions) | fields

    assert told(server.respond(post(made))) == (status, code, message)


def test_unknown_fields_may_be_ignored(world: World, server: Gateway) -> None:
    assert server.respond(post(presigned(world, "a") | {"x-ignore-me": "1"})).status == 204


def test_policy_of_a_form_expires(world: World, server: Gateway) -> None:
    request = post(presigned(world, "a"))
    world.advance(seconds=61)

    assert told(server.respond(request)) == (403, "AccessDenied", "Invalid according to Policy: Policy expired.")


@pytest.mark.parametrize("name", ["x-amz-signature", "x-amz-credential", "x-amz-date", "policy", "key"])
def test_form_needs_its_fields(world: World, server: Gateway, name: str) -> None:
    made = presigned(world, "a")
    del made[name]

    status, code, message = told(server.respond(post(made)))

    assert (status, code) == (400, "InvalidArgument")
    assert message.lower().startswith(f"bucket post must contain a field named '{name}'.  if it is specified, please")


def test_form_needs_a_file(world: World, server: Gateway) -> None:
    assert (
        told(server.respond(post(presigned(world, "a"), None)))[2]
        == "POST requires exactly one file upload per request."
    )


def test_post_of_something_else_is_no_form(server: Gateway) -> None:
    request = HttpRequest("POST", "/pictures", "", {"host": HOST, "content-type": "application/json"}, b"{}")

    answer = server.respond(request)

    assert told(answer)[:2] == (412, "PreconditionFailed")
    assert "enclosure-type multipart/form-data" in answer.body.decode()


@pytest.mark.parametrize("cut", [1, 20, 200, 900])
def test_form_that_ends_early_is_malformed(world: World, server: Gateway, cut: int) -> None:
    request = post(presigned(world, "a"))
    shorter = HttpRequest("POST", request.path, "", request.headers, request.body[:cut])

    assert told(server.respond(shorter))[1] == "MalformedPOSTRequest"


def test_nobody_may_bring_an_object_without_a_policy_of_the_bucket(server: Gateway) -> None:
    assert told(server.respond(post({"key": "a"})))[:2] == (403, "AccessDenied")
