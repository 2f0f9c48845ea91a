"""Our own surface over HTTP: through an SDK that has read its model, and to whom it answers."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session

from redrive.core.log import SilentLog
from redrive.gateway.identity import RootKey
from redrive.gateway.server import Options, Server, running
from redrive.wire.model.files import OWN_DATA

ACCOUNT, OTHER = "000000000000", "111111111111"
ROOT, STRANGER = RootKey("AKROOT", "a secret that is long", ACCOUNT), RootKey("AKOTHER", "another long secret", OTHER)
TRUST = {
    "Effect": "Allow", "Principal": {"AWS": ACCOUNT, "Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
}  # fmt: skip

Keys = tuple[str, ...]


@pytest.fixture(scope="module")
def lenient() -> Iterator[Server]:
    """A server on a developer's own machine."""
    with running(Options(port=0, virtual=True), SilentLog()) as server:
        yield server


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    """A server that requires signatures."""
    options = Options(port=0, virtual=True, require_signatures=True, keys=(ROOT, STRANGER))
    with running(options, SilentLog()) as server:
        yield server


def client(server: Server, service: str, *keys: str) -> Any:
    """A boto3 client; its session reads our model beside AWS's."""
    session = Session()
    session.get_component("data_loader").search_paths.append(str(OWN_DATA))
    config = Config(retries={"total_max_attempts": 1})
    return boto3.session.Session(*(keys or ("test", "test")), botocore_session=session, region_name="us-east-1").client(
        service, endpoint_url=server.endpoint_url, config=config
    )


def ask(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(server.endpoint_url + path, method=method, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def refused(call: Any, **params: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call(**params)
    return caught.value.response["Error"]["Code"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


def session_keys(server: Server, name: str, *actions: str, root: Keys = ()) -> Keys:
    """Credentials of a session of a new role that may do these actions."""
    iam = client(server, "iam", *root)
    document = json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    allowed = {"Effect": "Allow", "Action": ["sqs:*", *actions], "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)
    made = client(server, "sts", *root).assume_role(RoleArn=arn, RoleSessionName="run")["Credentials"]
    return made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"]


def test_sdk_that_has_read_the_model_uses_the_surface_as_any_service(lenient: Server) -> None:
    redrive = client(lenient, "redrive")
    before = redrive.get_clock()["now_ms"]

    fault = redrive.add_fault(target="*", error="ThrottlingException", times=1)
    listed = redrive.list_faults()["faults"]
    moved = redrive.advance_clock(advance_s=90)
    redrive.clear_fault(id=fault["id"])

    assert [one["id"] for one in listed] == [fault["id"]]
    assert moved["now_ms"] == before + 90_000
    assert redrive.list_runs(limit=5)["runs"] == []
    assert refused(redrive.clear_fault, id=fault["id"]) == ("ResourceNotFoundException", 404)
    assert refused(redrive.get_run, id="a/b c") == ("ResourceNotFoundException", 404)
    assert refused(redrive.list_runs, since="soon") == ("ValidationException", 400)
    assert refused(redrive.advance_clock, to="1999-01-01T00:00:00Z") == ("ValidationException", 400)
    assert refused(redrive.create_backup) == ("ValidationException", 400)


def test_reset_forgets_all_state_and_no_time(lenient: Server) -> None:
    redrive = client(lenient, "redrive")
    redrive.add_fault(target="*", error="X", times=1)
    before = redrive.get_clock()["now"]

    answer = redrive.reset()

    assert (answer["status"], answer["now"]) == ("ok", before)
    assert redrive.list_faults()["faults"] == []


def test_session_of_a_role_uses_the_surface_only_by_a_policy_though_nobody_has_to_sign(lenient: Server) -> None:
    allowed = client(lenient, "redrive", *session_keys(lenient, "may", "redrive:ListFaults"))
    denied = client(lenient, "redrive", *session_keys(lenient, "may-not"))

    assert allowed.list_faults()["faults"] == []
    assert refused(allowed.reset) == ("AccessDeniedException", 403)
    assert refused(denied.list_faults) == ("AccessDeniedException", 403)
    assert denied.get_health()["status"] == "ok"


def test_refusal_of_a_role_says_which_action_a_policy_has_to_allow(lenient: Server) -> None:
    with pytest.raises(ClientError) as caught:
        client(lenient, "redrive", *session_keys(lenient, "asks")).list_faults()

    assert "redrive:ListFaults" in caught.value.response["next"]


def test_root_of_the_servers_own_account_alone_administers_where_signatures_are_required(strict: Server) -> None:
    own, other = (client(strict, "redrive", key.access_key_id, key.secret) for key in (ROOT, STRANGER))
    forged = client(strict, "redrive", ROOT.access_key_id, "not the secret of it")

    assert own.list_faults()["faults"] == []
    assert refused(other.list_faults) == ("AccessDeniedException", 403)
    assert refused(forged.list_faults) == ("InvalidSignatureException", 403)
    status, said = ask(strict, "GET", "/_redrive/faults")
    assert (status, said["code"]) == (403, "MissingAuthenticationTokenException")
    assert "redrive env" in said["next"]


def test_role_administers_by_a_policy_where_signatures_are_required(strict: Server) -> None:
    root = (ROOT.access_key_id, ROOT.secret)
    role = client(strict, "redrive", *session_keys(strict, "may", "redrive:*", root=root))

    assert role.list_faults()["faults"] == []


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_is_open_to_everybody(strict: Server, method: str) -> None:
    assert ask(strict, method, "/_redrive/health")[0] == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/_redrive/faults/"),
        ("GET", "/_redrive/runs/"),
        ("POST", "/_redrive//reset"),
        ("POST", "//_redrive/reset"),
        ("POST", "/_redrive/reset/"),
        ("PUT", "/_redrive/faults"),
        ("GET", "/_redrive/"),
    ],
)
def test_path_that_is_nearly_one_is_none(lenient: Server, method: str, path: str) -> None:
    """A fault whose id is empty is not all faults."""
    client(lenient, "redrive").add_fault(target="*", error="X", times=1)

    assert ask(lenient, method, path)[0] == 404
    assert client(lenient, "redrive").list_faults()["faults"]
    client(lenient, "redrive").clear_faults()


def test_code_of_a_function_is_at_its_location_and_nowhere_else(strict: Server) -> None:
    root = (ROOT.access_key_id, ROOT.secret)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", "def handler(event, context): ...")
    document = json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
    role = client(strict, "iam", *root).create_role(RoleName="work", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    functions = client(strict, "lambda", *root)
    functions.create_function(
        FunctionName="work", Role=role, Runtime="python3.12", Handler="app.handler",
        Code={"ZipFile": packed.getvalue()},
    )  # fmt: skip
    location = functions.get_function(FunctionName="work")["Code"]["Location"]

    with urllib.request.urlopen(location, timeout=20) as response:
        content, kind = response.read(), response.headers["Content-Type"]

    assert (content, kind) == (packed.getvalue(), "application/zip")
    digest = functions.get_function(FunctionName="work")["Configuration"]["CodeSha256"]
    assert base64.b64encode(hashlib.sha256(content).digest()).decode() == digest
    path, _, query = location.removeprefix(strict.endpoint_url).partition("?")
    for altered in (path, f"{path}?{query}0", f"{path}x?{query}"):
        assert ask(strict, "GET", altered)[0] == 403
