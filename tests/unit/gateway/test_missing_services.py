"""A service that is not here is named to whoever calls it, in the protocol that their SDK reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import SystemClock
from redrive.core.entropy import SeededEntropy
from redrive.core.log import SilentLog
from redrive.core.sessions import Issuer
from redrive.gateway.chain import Gateway
from redrive.gateway.identity import Identity
from redrive.gateway.refusals import refusal
from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models

ACCOUNT = "000000000000"
CBOR = {"smithy-protocol": "rpc-v2-cbor"}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


def signed(service: str, **headers: str) -> dict[str, str]:
    scope = f"test/20250101/us-east-1/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00"} | {
        "x-amz-date": "20250101T000000Z", **headers,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("service", "call", "params", "code", "status"),
    [
        ("route53", "list_hosted_zones", {}, "InvalidAction", 404),
        ("ec2", "describe_instances", {}, "InvalidAction", 404),
        ("rds", "describe_db_clusters", {}, "InvalidAction", 404),
        ("firehose", "list_delivery_streams", {}, "UnknownOperationException", 400),
        ("apigateway", "get_rest_apis", {}, "UnknownOperationException", 404),
    ],
)
def test_missing_service_is_named_in_its_own_protocol(
    world: World, service: str, call: str, params: dict[str, Any], code: str, status: int
) -> None:
    client = world.client(service)

    with pytest.raises(ClientError) as caught:
        getattr(client, call)(**params)

    found: Any = caught.value.response
    name = client.meta.service_model.signing_name
    assert (found["Error"]["Code"], found["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    assert found["Error"]["Message"].startswith(f"The service {name} is not served here. Served are: cloudformation, ")


def test_missing_operation_of_s3_has_the_code_of_s3(world: World) -> None:
    """S3 has a code of its own for what it does not implement."""
    with pytest.raises(ClientError) as caught:
        world.client("s3").create_session(Bucket="reports")

    found: Any = caught.value.response
    assert (found["Error"]["Code"], found["ResponseMetadata"]["HTTPStatusCode"]) == ("NotImplemented", 501)
    assert found["Error"]["Message"] == "redrive does not implement s3 CreateSession."


@pytest.mark.parametrize(
    ("headers", "named"), [(CBOR, b"The service Ghost"), (signed("arc-region-switch", **CBOR), b"arc-region-switch")]
)
def test_missing_service_is_named_over_cbor(world: World, headers: dict[str, str], named: bytes) -> None:
    identity = Identity(Issuer(world.store.secret), account=ACCOUNT, clocks=[SystemClock()])
    gateway = Gateway(world.engine, Models(), identity=identity, entropy=SeededEntropy(2), log=SilentLog())

    answer = gateway.respond(HttpRequest("POST", "/service/Ghost/operation/Appear", "", headers, b"\xa0"))

    assert answer.status == 404
    assert named in answer.body
    assert dict(answer.headers)["Content-Type"] == "application/cbor"


def test_refusal_of_a_request_for_s3_has_the_shape_of_s3(world: World) -> None:
    """What stands before the chain, such as the guard against web pages, answers in the same shapes."""
    request = HttpRequest("GET", "/reports", "", signed("s3"), b"")

    answer = refusal(request, 403, "AccessDeniedException", "No <page> may call.", "Say so.", request_id="id-1")

    root = ET.fromstring(answer.body.decode())
    assert (answer.status, root.tag) == (403, "Error")
    assert [(one.tag, one.text) for one in root] == [
        ("Code", "AccessDenied"), ("Message", "No <page> may call. Say so."), ("RequestId", "id-1"),
        ("HostId", dict(answer.headers)["x-amz-id-2"]),
    ]  # fmt: skip


MISSING = [
    ("acm", "delete_certificate", {"CertificateArn": f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/c"},
     "AccessDeniedException", "acm:DeleteCertificate on resource: arn:aws:acm:us-east-1:000000000000:certificate/c"),
    ("athena", "list_data_catalogs", {}, "AccessDeniedException", "athena:ListDataCatalogs on resource: *"),
    ("ec2", "describe_instances", {}, "UnauthorizedOperation", "ec2:DescribeInstances on resource: *"),
]  # fmt: skip


@pytest.fixture
def ann(world: World) -> Iterator[dict[str, str]]:
    """The keys of a user who may do nothing."""
    iam = world.client("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    yield {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    world.store.reset()


@pytest.mark.parametrize(("service", "call", "params", "code", "action"), MISSING)
def test_permissions_come_before_a_service_that_is_missing(
    world: World, ann: dict[str, str], service: str, call: str, params: dict[str, Any], code: str, action: str
) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(world.client(service, **ann), call)(**params)

    error = caught.value.response["Error"]
    assert error["Code"] == code
    assert f"user/ann is not authorized to perform: {action} because no identity-based policy" in error["Message"]


@pytest.mark.parametrize(("service", "call", "params"), [each[:3] for each in MISSING])
def test_who_may_call_it_is_told_that_the_service_is_missing(
    world: World, ann: dict[str, str], service: str, call: str, params: dict[str, Any]
) -> None:
    statement = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.client("iam").put_user_policy(UserName="ann", PolicyName="all", PolicyDocument=document)

    with pytest.raises(ClientError, match="is not served here"):
        getattr(world.client(service, **ann), call)(**params)


def test_unknown_operation_of_a_missing_service_is_no_defect(world: World, ann: dict[str, str]) -> None:
    scope = f"{ann['aws_access_key_id']}/20250101/us-east-1/firehose/aws4_request"
    headers = signed("firehose", **{"x-amz-target": "Firehose_20150804.", "host": "localhost"})
    headers["authorization"] = headers["authorization"].replace("test/20250101/us-east-1/firehose/aws4_request", scope)
    identity = Identity(Issuer(world.store.secret), account=ACCOUNT, clocks=[SystemClock()])
    gateway = Gateway(world.engine, Models(), identity=identity, entropy=SeededEntropy(2), log=SilentLog())

    answer = gateway.respond(HttpRequest("POST", "/", "", headers, b"[" * 100_000))

    assert answer.status == 400
    assert b"not authorized to perform: firehose:" in answer.body
