"""What function code finds in its environment variables."""

from __future__ import annotations

import re

import pytest

from redrive.core.clock import HOUR_MS, parse_instant
from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import NEVER, Issuer, Session
from redrive.invoke.sandbox.variables import (
    credentials_expiry,
    environment_credentials,
    function_credentials,
    function_variables,
    new_log_stream,
    process_variables,
)
from tests.unit.invoke.functions import ENDPOINT_URL, invocation

ISSUER = Issuer(b"secret")
CREDENTIALS = function_credentials(ISSUER, invocation(), expires_at=NEVER)
VARIABLES = function_variables(
    invocation(), log_stream="s", task_root="/var/task", endpoint_url=ENDPOINT_URL, credentials=CREDENTIALS
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_REGION", "eu-west-1"),
        ("AWS_DEFAULT_REGION", "eu-west-1"),
        ("AWS_ENDPOINT_URL", ENDPOINT_URL),
        ("AWS_EXECUTION_ENV", "AWS_Lambda_python3.12"),
        ("AWS_LAMBDA_FUNCTION_NAME", "plain"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/plain"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "s"),
        ("LAMBDA_TASK_ROOT", "/var/task"),
        ("_HANDLER", "app.handler"),
        ("TZ", ":UTC"),
        ("COLOUR", "green"),
    ],
)
def test_variables_are_those_that_lambda_sets(name: str, value: str) -> None:
    assert VARIABLES[name] == value


def test_variables_of_the_function_win() -> None:
    own = invocation(environment={"AWS_ENDPOINT_URL": "http://elsewhere"})

    variables = function_variables(
        own, log_stream="s", task_root="/", endpoint_url=ENDPOINT_URL, credentials=CREDENTIALS
    )

    assert variables["AWS_ENDPOINT_URL"] == "http://elsewhere"


def test_nothing_of_this_process_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")

    variables = {**process_variables("/code", "127.0.0.1:1"), **VARIABLES}

    assert not {"AWS_PROFILE", "PYTHONPATH"} & set(variables)


def test_credentials_have_the_form_of_a_session_and_stand_for_the_role() -> None:
    own = invocation()

    key_id, token = VARIABLES["AWS_ACCESS_KEY_ID"], VARIABLES["AWS_SESSION_TOKEN"]

    assert re.fullmatch(r"ASIA[A-Z2-7]{16}", key_id)
    assert VARIABLES["AWS_SECRET_ACCESS_KEY"] == ISSUER.secret_of(key_id)
    assert ISSUER.session(token, key_id) == Session(own.role_arn, own.function_name, key_id, NEVER)


def test_same_role_name_and_expiry_give_the_same_credentials() -> None:
    assert function_credentials(ISSUER, invocation(), expires_at=NEVER) == CREDENTIALS
    assert function_credentials(ISSUER, invocation(), expires_at=0) != CREDENTIALS
    assert function_credentials(Issuer(b"other"), invocation(), expires_at=NEVER) != CREDENTIALS


def test_credentials_expire_in_6_to_12_hours_and_in_virtual_time_never() -> None:
    """Environments of six hours share an expiry, so that one that differs tells that they must be renewed."""
    at_six = parse_instant("2025-10-07T06:00:00Z")

    assert credentials_expiry(at_six, is_virtual=False) == at_six + 12 * HOUR_MS
    assert credentials_expiry(at_six + 6 * HOUR_MS - 1, is_virtual=False) == at_six + 12 * HOUR_MS
    assert credentials_expiry(at_six + 6 * HOUR_MS, is_virtual=False) == at_six + 18 * HOUR_MS
    assert credentials_expiry(at_six, is_virtual=True) == NEVER


def test_log_stream_is_named_after_the_day_and_the_version() -> None:
    name = new_log_stream(parse_instant("2025-10-07T23:59:59Z"), "$LATEST", SeededEntropy(1))

    assert re.fullmatch(r"2025/10/07/\[\$LATEST\][0-9a-f]{32}", name)


def test_each_environment_has_an_access_key_of_its_own() -> None:
    issuer, entropy = Issuer(b"a secret"), SeededEntropy(1)

    first, second = (environment_credentials(issuer, invocation(), entropy, expires_at=NEVER) for _ in range(2))

    assert first.access_key_id != second.access_key_id
    session = issuer.session(first.session_token, first.access_key_id)
    assert session is not None
    assert session.session_name == "plain"
