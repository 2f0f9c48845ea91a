"""Who makes a request: keys, tokens and signatures, told through boto3 and refused in each protocol's words."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from redrive.core.clock import SystemClock
from redrive.core.entropy import SeededEntropy
from redrive.core.log import SilentLog
from redrive.core.sessions import Issuer
from redrive.gateway.chain import Gateway
from redrive.gateway.identity import Identity, RootKey
from redrive.testing.clients import client_of
from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models

ACCOUNT, OTHER = "000000000000", "111111111111"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/worker"
ROOT = RootKey("AKROOT", "a secret that is long", ACCOUNT)
INVALID = "The security token included in the request is invalid."
MODELS = Models()

Keys = dict[str, str]
Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def one_world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def world(one_world: World) -> Iterator[World]:
    yield one_world
    one_world.store.reset()


def gateway(world: World, *, strict: bool) -> Gateway:
    """A gateway to the world that requires signatures, or does not."""
    identity = Identity(
        Issuer(world.store.secret), account=ACCOUNT, clocks=[world.clock, SystemClock()],
        root_keys=[ROOT, RootKey("AKOTHER", "another long secret", OTHER)], requires_signatures=strict,
    )  # fmt: skip
    return Gateway(world.engine, MODELS, identity=identity, entropy=SeededEntropy(2), log=SilentLog())


def connector(world: World, *, strict: bool) -> Connect:
    served = gateway(world, strict=strict)

    def connect(service: str, key_id: str, secret: str = "any", token: str | None = None, **options: Any) -> Any:
        """A boto3 client with these credentials."""
        return client_of(
            served, service, region="us-east-1", account=ACCOUNT, aws_access_key_id=key_id,
            aws_secret_access_key=secret, aws_session_token=token, **options,
        )  # fmt: skip

    return connect


@pytest.fixture
def lenient(world: World) -> Connect:
    """Clients of a server on a developer's own machine."""
    return connector(world, strict=False)


@pytest.fixture
def strict(world: World) -> Connect:
    """Clients of a server that requires signatures."""
    return connector(world, strict=True)


def refused(call: Callable[..., Any], **params: object) -> tuple[str, str, int]:
    """(code, message, status) of the error that a call answers."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


def user_key(world: World, name: str = "ann", *, may: str = "*") -> tuple[str, str]:
    """The id and secret of a new key of a new user who may do this."""
    iam = world.client("iam")
    iam.create_user(UserName=name)
    statement = {"Effect": "Allow", "Action": may, "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def session(world: World) -> tuple[str, str, str]:
    """Credentials of a session of a role that may do nothing."""
    trust = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=document)
    made = world.client("sts").assume_role(RoleArn=ROLE, RoleSessionName="run")["Credentials"]
    return made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"]


def whoami(client: Any) -> str:
    arn: str = client.get_caller_identity()["Arn"]
    return arn


def test_any_credentials_work_where_no_signature_is_required(lenient):
    assert whoami(lenient("sts", "test")) == f"arn:aws:iam::{ACCOUNT}:root"
    assert whoami(lenient("sts", OTHER)) == f"arn:aws:iam::{OTHER}:root"
    assert whoami(lenient("sts", "AKIAIOSFODNN7EXAMPLE")) == f"arn:aws:iam::{ACCOUNT}:root"


def test_real_credentials_of_aws_work_where_no_signature_is_required(lenient):
    """A developer's environment may hold what AWS has given: a temporary key with a token of AWS's."""
    assert whoami(lenient("sts", "ASIAIOSFODNN7EXAMPLE", token="IQoJb3JpZ2luX2VjEJr")) == f"arn:aws:iam::{ACCOUNT}:root"


@pytest.mark.parametrize(("service", "call", "code", "status"), [
    ("sts", "get_caller_identity", "InvalidClientTokenId", 403),
    ("sqs", "list_queues", "InvalidClientTokenId", 400),
    ("dynamodb", "list_tables", "UnrecognizedClientException", 400),
    ("lambda", "list_functions", "UnrecognizedClientException", 403),
])  # fmt: skip
def test_temporary_key_without_its_token_is_refused_in_each_protocols_words(lenient, service, call, code, status):
    """It acted as the account's root once."""
    client = lenient(service, "ASIAIOSFODNN7EXAMPLE")

    found = refused(getattr(client, call))

    assert found[1:] == (INVALID, status)
    assert found[0] in {code, "UnrecognizedClientException"}


def test_token_that_names_a_role_in_plain_sight_is_no_session(lenient, world):
    """The attack: anybody could write a token for any role."""
    session(world)
    forged = base64.urlsafe_b64encode(f"redrive\n{ROLE}\nrun".encode()).decode()
    ours = "redrive1" + base64.urlsafe_b64encode(b"0" * 32 + f"{ROLE}\nrun\nASIAX\n9999999999999".encode()).decode()

    assert "assumed-role" not in whoami(lenient("sts", "ASIAX", token=forged))
    assert refused(lenient("sts", "ASIAX", token=ours).get_caller_identity)[:2] == ("InvalidClientTokenId", INVALID)


def test_token_is_refused_with_another_key(lenient, world):
    _, secret, token = session(world)

    for key_id in ("ASIAIOSFODNN7EXAMPLE", "test", ROOT.access_key_id):
        assert refused(lenient("sts", key_id, secret, token).get_caller_identity)[0] == "InvalidClientTokenId"


@pytest.mark.parametrize("mode", [True, False])
def test_session_acts_as_its_role_until_it_expires(world, mode):
    connect, credentials = connector(world, strict=mode), session(world)
    assert whoami(connect("sts", *credentials)) == f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/run"

    world.advance(hours=1)

    expired = "The security token included in the request is expired"
    assert refused(connect("sts", *credentials).get_caller_identity) == ("ExpiredToken", expired, 403)
    assert refused(connect("dynamodb", *credentials).list_tables) == ("ExpiredTokenException", expired, 400)
    assert refused(connect("lambda", *credentials).list_functions) == ("ExpiredTokenException", expired, 403)


@pytest.mark.parametrize("mode", [True, False])
def test_access_key_of_a_user_acts_as_the_user(world, mode):
    connect = connector(world, strict=mode)
    key = user_key(world, may="sqs:ListQueues")

    assert whoami(connect("sts", *key)) == f"arn:aws:iam::{ACCOUNT}:user/ann"
    connect("sqs", *key).list_queues()
    code, message, _ = refused(connect("sqs", *key).create_queue, QueueName="q")
    assert code == "AccessDenied"
    assert message.startswith(
        f"User: arn:aws:iam::{ACCOUNT}:user/ann is not authorized to perform: sqs:CreateQueue on resource: "
        f"arn:aws:sqs:us-east-1:{ACCOUNT}:q because"
    )


@pytest.mark.parametrize("mode", [True, False])
def test_key_is_refused_from_the_commit_on_that_switches_it_off(world, mode):
    """A key that is gone is refused too where unknown ones are not: it stays known as one of this store's."""
    connect, (key_id, secret) = connector(world, strict=mode), user_key(world)
    iam, sts = world.client("iam"), connect("sts", key_id, secret)

    iam.update_access_key(UserName="ann", AccessKeyId=key_id, Status="Inactive")
    assert refused(sts.get_caller_identity) == ("InvalidClientTokenId", INVALID, 403)
    iam.update_access_key(UserName="ann", AccessKeyId=key_id, Status="Active")
    assert whoami(sts).endswith(":user/ann")
    iam.delete_access_key(UserName="ann", AccessKeyId=key_id)
    assert refused(sts.get_caller_identity) == ("InvalidClientTokenId", INVALID, 403)


def test_key_of_a_user_takes_no_token(lenient, world):
    assert refused(lenient("sts", *user_key(world), token="IQoJ").get_caller_identity)[0] == "InvalidClientTokenId"


def test_root_key_is_the_root_of_its_account(strict, lenient):
    assert whoami(strict("sts", ROOT.access_key_id, ROOT.secret)) == f"arn:aws:iam::{ACCOUNT}:root"
    assert whoami(strict("sts", "AKOTHER", "another long secret")) == f"arn:aws:iam::{OTHER}:root"
    assert whoami(lenient("sts", "AKOTHER")) == f"arn:aws:iam::{OTHER}:root"


@pytest.mark.parametrize("key_id", ["test", OTHER, "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"])
@pytest.mark.parametrize("token", [None, "IQoJb3JpZ2luX2VjEJr"])
def test_unknown_key_is_refused_where_signatures_are_required(strict, key_id, token):
    assert refused(strict("sts", key_id, token=token).get_caller_identity) == ("InvalidClientTokenId", INVALID, 403)
    assert refused(strict("dynamodb", key_id, token=token).list_tables)[0] == "UnrecognizedClientException"


@pytest.mark.parametrize(("service", "call", "code", "status"), [
    ("sts", "get_caller_identity", "SignatureDoesNotMatch", 403),
    ("dynamodb", "list_tables", "InvalidSignatureException", 400),
    ("lambda", "list_functions", "InvalidSignatureException", 403),
])  # fmt: skip
def test_signature_by_another_secret_is_refused_in_each_protocols_words(strict, world, service, call, code, status):
    key_id, _ = user_key(world)
    for key in ((ROOT.access_key_id, "x"), (key_id, "x"), (*session(world)[:1], "x")):
        token = session_token_of(world) if key[0].startswith("ASIA") else None
        found = refused(getattr(strict(service, *key, token), call))
        if token is None:
            assert (found[0], found[2]) == (code, status)
            assert found[1].startswith("The request signature we calculated does not match the signature you provided.")


def session_token_of(world: World) -> str:
    token: str = world.client("sts").assume_role(RoleArn=ROLE, RoleSessionName="run")["Credentials"]["SessionToken"]
    return token


@pytest.mark.parametrize(("service", "call", "code", "status"), [
    ("sts", "get_caller_identity", "MissingAuthenticationToken", 403),
    ("dynamodb", "list_tables", "MissingAuthenticationTokenException", 400),
    ("lambda", "list_functions", "MissingAuthenticationTokenException", 403),
])  # fmt: skip
def test_unsigned_request_is_refused_where_signatures_are_required(strict, service, call, code, status):
    client = strict(service, "x", config=Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1}))

    assert refused(getattr(client, call)) == (code, "Request is missing Authentication Token", status)


def test_refused_request_is_not_decoded_and_costs_the_store_nothing(world):
    """Who has no key reaches neither the decoder nor the writer."""
    statements: list[str] = []
    world.store.connection.set_trace_callback(statements.append)
    headers = {"x-amz-target": "DynamoDB_20120810.PutItem", "host": "h", "x-amz-date": "20250101T000000Z"}
    scope = f"Credential={ROOT.access_key_id}/20250101/us-east-1/dynamodb/aws4_request"
    headers["authorization"] = f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host;x-amz-date;x-amz-target, Signature=00"

    answer = gateway(world, strict=True).open(HttpRequest("POST", "/", "", headers, b"no JSON"))

    world.store.connection.set_trace_callback(None)
    assert b"InvalidSignatureException" in answer.body  # type: ignore[union-attr]
    assert statements == []


def test_key_of_no_user_costs_no_statement(world):
    """Neither does the key of a user, once it was read and its use noted."""
    key_id, secret = user_key(world)
    connect = connector(world, strict=True)
    whoami(connect("sts", key_id, secret))
    statements: list[str] = []
    world.store.connection.set_trace_callback(statements.append)

    whoami(connect("sts", ROOT.access_key_id, ROOT.secret))
    whoami(connect("sts", key_id, secret))

    world.store.connection.set_trace_callback(None)
    assert [text for text in statements if not text.startswith(("BEGIN", "COMMIT"))] == []


def test_presigned_request_is_verified(strict, world):
    client = strict("sts", ROOT.access_key_id, ROOT.secret)
    url = client.generate_presigned_url("get_caller_identity", ExpiresIn=60, HttpMethod="GET")
    path, _, query = url.partition("internal")[2].partition("?")
    host = "in-process.redrive.internal"

    good = gateway(world, strict=True).respond(HttpRequest("GET", path or "/", query, {"host": host}, b""))
    bad = gateway(world, strict=True).respond(HttpRequest("GET", path or "/", query + "0", {"host": host}, b""))

    assert (good.status, bad.status) == (200, 403)
    assert b":root" in good.body
    assert b"SignatureDoesNotMatch" in bad.body


def test_signature_for_another_service_is_refused(strict):
    """The target says DynamoDB, the signature is for SQS."""
    client = strict("dynamodb", ROOT.access_key_id, ROOT.secret)
    client.meta.events.register_first(
        "before-sign.*", lambda request, **_: request.context.update(signing={"signing_name": "sqs"})
    )

    code, message, status = refused(client.list_tables)

    assert (code, status) == ("InvalidSignatureException", 400)
    assert message == "Credential should be scoped to correct service: 'dynamodb'."


@pytest.mark.parametrize(("service", "call", "params", "code", "status"), [
    ("dynamodb", "list_global_tables", {}, "AccessDeniedException", 400),
    ("iam", "list_groups", {}, "AccessDenied", 403),
    ("lambda", "delete_layer_version", {"LayerName": "a", "VersionNumber": 1}, "AccessDeniedException", 403),
    ("cloudwatch", "delete_alarms", {"AlarmNames": ["late"]}, "AccessDeniedException", 400),
])  # fmt: skip
def test_operation_that_is_not_here_is_first_refused_to_who_may_not_call_it(
    world: World, lenient: Connect, service: str, call: str, params: dict[str, Any], code: str, status: int
) -> None:
    client = lenient(service, *session(world))

    found = refused(getattr(client, call), **params)

    operation = client.meta.method_to_api_mapping[call]
    assert found[0] in {code, "AccessDenied"}
    assert found[2] == status
    assert f"assumed-role/worker/run is not authorized to perform: {service}:{operation}" in found[1]


def test_operation_that_is_not_here_is_told_to_who_may_call_it(world: World, lenient: Connect) -> None:
    allowed = lenient("dynamodb", *user_key(world, may="dynamodb:DescribeGlobalTableSettings"))

    told = [
        refused(client.describe_global_table_settings, GlobalTableName="orders")
        for client in (allowed, lenient("dynamodb", "test"))
    ]

    sentence = "redrive does not implement dynamodb DescribeGlobalTableSettings."
    assert told == [("UnknownOperationException", sentence, 501)] * 2
