"""A server that requires signatures: boto3, function code, the command line, and URLs of code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROOT, ServerProcess

KEY_ID, SECRET = "AKROOT", "a-secret-that-is-long"
CODE = """
import boto3
def handler(event, context):
    return boto3.client("sts").get_caller_identity()["Arn"]
"""


@pytest.fixture(scope="module")
def strict() -> Iterator[ServerProcess]:
    """A server in virtual time that requires signatures."""
    one = ServerProcess("--clock", "virtual", "--require-signatures", "--key", f"{KEY_ID}:{SECRET}")
    yield one
    one.kill()


@pytest.fixture
def connect(strict: ServerProcess) -> Callable[..., Any]:
    def connect(service: str, key_id: str = KEY_ID, secret: str = SECRET) -> Any:
        config = Config(retries={"total_max_attempts": 1}, read_timeout=60)
        return boto3.session.Session(key_id, secret, region_name="us-east-1").client(
            service, endpoint_url=strict.endpoint_url, config=config
        )

    return connect


def redrive(server: ServerProcess, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A redrive command with these variables."""
    command = [sys.executable, "-m", "redrive.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "AWS_ENDPOINT_URL": server.endpoint_url, **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def fetch(url: str, body: bytes | None = None) -> tuple[int, bytes]:
    """The status and body of an unsigned request."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_only_who_has_a_key_is_answered(connect: Callable[..., Any]) -> None:
    assert connect("sts").get_caller_identity()["Arn"] == "arn:aws:iam::000000000000:root"
    for key in (("test", "test"), (KEY_ID, "test"), ("000000000000", "test")):
        with pytest.raises(ClientError, match=r"InvalidClientTokenId|SignatureDoesNotMatch"):
            connect("sts", *key).get_caller_identity()


@pytest.mark.parametrize("url", ["/?Action=ListRoles&Version=2010-05-08", "/2015-03-31/functions/"])
def test_request_that_a_browser_could_send_is_refused(strict: ServerProcess, url: str) -> None:
    status, body = fetch(strict.endpoint_url + url)

    assert status == 403
    assert b"Authentication Token" in body


def test_function_code_signs_with_its_own_credentials(connect: Callable[..., Any]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", CODE)
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = connect("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    functions = connect("lambda")
    functions.create_function(
        FunctionName="who", Role=role, Runtime="python3.12", Handler="app.handler",
        Code={"ZipFile": packed.getvalue()}, Timeout=30,
    )  # fmt: skip

    told = json.load(functions.invoke(FunctionName="who")["Payload"])

    assert told == "arn:aws:sts::000000000000:assumed-role/worker/who"
    location = functions.get_function(FunctionName="who")["Code"]["Location"]
    assert fetch(location) == (200, packed.getvalue())
    assert fetch(location.partition("?")[0])[0] == 403
    assert fetch(location.replace("Expires=", "Expires=9"))[0] == 403


def test_own_surface_is_for_those_who_sign(strict: ServerProcess) -> None:
    assert fetch(strict.endpoint_url + "/_redrive/health")[0] == 200
    status, body = fetch(strict.endpoint_url + "/_redrive/reset", b"{}")
    assert (status, json.loads(body)["code"]) == (403, "MissingAuthenticationTokenException")

    none = redrive(strict, "clock", "advance", "1h", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    wrong = redrive(strict, "clock", "advance", "1h", AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY="wrong")
    right = redrive(strict, "clock", "advance", "1h", AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET)

    assert "Request is missing Authentication Token\n  Set AWS_ACCESS_KEY_ID and" in none.stderr
    assert "does not match the signature you provided" in wrong.stderr.replace("\n", " ")
    assert right.returncode == 0, right.stderr


def test_user_administers_the_server_if_their_policies_say_so(
    strict: ServerProcess, connect: Callable[..., Any]
) -> None:
    iam = connect("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    variables = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}

    before = redrive(strict, "clock", "show", **variables)
    iam.attach_user_policy(UserName="ann", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    after = redrive(strict, "clock", "show", **variables)

    assert "is not authorized to perform: redrive:GetClock" in before.stderr.replace("\n", " ")
    assert after.returncode == 0, after.stderr


def test_env_prints_the_key_that_the_server_was_given(strict: ServerProcess) -> None:
    given = redrive(strict, "env", "--key", f"{KEY_ID}:{SECRET}")
    found = redrive(strict, "env", REDRIVE_KEYS=f"{KEY_ID}:{SECRET} AKOTHER:{SECRET}")
    plain = redrive(strict, "env")

    assert f"export AWS_ACCESS_KEY_ID={KEY_ID}\nexport AWS_SECRET_ACCESS_KEY={SECRET}\n" in given.stdout
    assert given.stdout == found.stdout
    assert "export AWS_ACCESS_KEY_ID=test\nexport AWS_SECRET_ACCESS_KEY=test\n" in plain.stdout


def test_key_of_a_user_outlives_the_server(start: Callable[..., ServerProcess], tmp_path: Any) -> None:
    """Keys follow from the secret in the data directory; with one in the store no other need be given."""
    data = ("--data", str(tmp_path))
    server = start(*data)
    iam = server.client("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    server.stop()

    again = start(*data, "--require-signatures")

    session = boto3.session.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name="us-east-1")
    sts = session.client("sts", endpoint_url=again.endpoint_url)
    assert sts.get_caller_identity()["Arn"] == "arn:aws:iam::000000000000:user/ann"
