"""What function code finds in its environment variables."""

from __future__ import annotations

import re

import pytest

from redrive.core.clock import parse_instant
from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import Session, decode_session
from redrive.invoke.environment import credentials, function_variables, new_log_stream, process_variables
from tests.unit.invoke.functions import ENDPOINT_URL, invocation

VARIABLES = function_variables(invocation(), log_stream="s", task_root="/var/task", endpoint_url=ENDPOINT_URL)


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

    variables = function_variables(own, log_stream="s", task_root="/", endpoint_url=ENDPOINT_URL)

    assert variables["AWS_ENDPOINT_URL"] == "http://elsewhere"


def test_nothing_of_this_process_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")

    variables = {**process_variables("/code", "127.0.0.1:1"), **VARIABLES}

    assert not {"AWS_PROFILE", "PYTHONPATH"} & set(variables)


def test_credentials_have_the_form_of_a_session_and_name_the_role() -> None:
    role = "arn:aws:iam::123456789012:role/worker"

    made = credentials(role, "plain")

    assert re.fullmatch(r"ASIA[A-Z2-7]{16}", made["AWS_ACCESS_KEY_ID"])
    assert len(made["AWS_SECRET_ACCESS_KEY"]) == 40
    assert decode_session(made["AWS_SESSION_TOKEN"]) == Session(role, "plain")
    assert made == credentials(role, "plain") != credentials(role, "other")


def test_log_stream_is_named_after_the_day_and_the_version() -> None:
    name = new_log_stream(parse_instant("2025-10-07T23:59:59Z"), "$LATEST", SeededEntropy(1))

    assert re.fullmatch(r"2025/10/07/\[\$LATEST\][0-9a-f]{32}", name)
