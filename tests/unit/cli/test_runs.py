"""`redrive runs`: asked of a server in which a schedule has reached its queue, and another one's letter is dead."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from click.testing import CliRunner, Result

from redrive.cli.main import main
from redrive.core.log import SilentLog
from redrive.gateway.server import Options, running

ACCOUNT = "000000000000"
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders"
GONE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:gone"
TRUST = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
ALLOWED = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}


def policy(statement: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server on which two schedules have fired."""
    data: Path = tmp_path_factory.mktemp("runs")
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    with running(Options(port=0, data=data, virtual=True), SilentLog()) as server:
        config = Config(retries={"total_max_attempts": 1})
        iam, sqs, scheduler = (
            session.client(name, endpoint_url=server.endpoint_url, config=config)
            for name in ("iam", "sqs", "scheduler")
        )
        role = iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy(TRUST))["Role"]["Arn"]
        iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=policy(ALLOWED))
        sqs.create_queue(QueueName="orders")
        for name, arn in (("works", QUEUE), ("fails", GONE)):
            scheduler.create_schedule(
                Name=name, ScheduleExpression="rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF"},
                Target={
                    "Arn": arn, "RoleArn": role, "DeadLetterConfig": {"Arn": QUEUE},
                    "RetryPolicy": {"MaximumRetryAttempts": 0},
                },
            )  # fmt: skip
        advanced = CliRunner().invoke(main, ["clock", "advance", "30m", "--endpoint-url", server.endpoint_url])
        assert advanced.exit_code == 0, advanced.output
        yield server.endpoint_url


def ask(endpoint: str, *arguments: str) -> Result:
    outcome = CliRunner(env={"COLUMNS": "300"}).invoke(main, [*arguments, "--endpoint-url", endpoint])
    assert outcome.exit_code == 0, outcome.output
    return outcome


def test_list_is_json_to_a_pipe(endpoint: str) -> None:
    found = json.loads(ask(endpoint, "runs", "list").stdout)["runs"]

    assert sorted(run["state"] for run in found) == ["dead-lettered", "delivered"]


def test_list_is_a_table_where_one_is_asked_for(endpoint: str) -> None:
    told = ask(endpoint, "runs", "list", "-o", "table")

    assert "schedule/default/works" in told.stdout.replace("\n", "")
    assert "redrive runs show ID" in told.stderr


@pytest.mark.parametrize(
    ("choice", "targets"),
    [
        (("--state", "delivered"), [QUEUE]),
        (("--state", "dead-lettered"), [GONE]),
        (("--target", GONE), [GONE]),
        (("--source", f"arn:aws:scheduler:us-east-1:{ACCOUNT}:schedule/default/works"), [QUEUE]),
        (("--since", "2999-01-01T00:00:00Z"), []),
        (("--region", "eu-west-1"), []),
    ],
)
def test_list_is_of_what_is_asked_for(endpoint: str, choice: tuple[str, ...], targets: list[str]) -> None:
    found = json.loads(ask(endpoint, "runs", "list", *choice).stdout)["runs"]

    assert [run["target"] for run in found] == targets


def test_page_names_the_next_one(endpoint: str) -> None:
    first = json.loads(ask(endpoint, "runs", "list", "-n", "1").stdout)
    second = json.loads(ask(endpoint, "runs", "list", "-n", "1", "--after", first["after"]).stdout)

    assert len({run["id"] for page in (first, second) for run in page["runs"]}) == 2
    assert f"--after {first['after']}" in ask(endpoint, "runs", "list", "-n", "1", "-o", "table").stderr


def test_show_tells_the_whole_story_by_the_id_of_the_message(endpoint: str) -> None:
    (run,) = json.loads(ask(endpoint, "runs", "list", "--state", "delivered").stdout)["runs"]
    message_id = run["attempts"][-1]["led_to"]

    told = ask(endpoint, "runs", "show", message_id, "-o", "table").stdout

    assert told.splitlines()[0] == f"execution {run['execution_id']}"
    assert "schedule default/works fired for queue orders" in told
    assert f"attempt 1 succeeded and sent message {message_id}" in told


def test_show_is_json_to_a_pipe(endpoint: str) -> None:
    (run,) = json.loads(ask(endpoint, "runs", "list", "--state", "dead-lettered").stdout)["runs"]

    timeline = json.loads(ask(endpoint, "runs", "show", run["execution_id"]).stdout)["timeline"]

    assert [event["event"] for event in timeline] == ["began", "attempted"]


def test_nothing_found_says_how_far_back_is_known(endpoint: str) -> None:
    told = ask(endpoint, "runs", "list", "--region", "eu-west-1", "-o", "table")

    assert (told.stdout, "more than 14 days ago" in told.stderr) == ("", True)


def test_unknown_id_names_the_command_to_give(endpoint: str) -> None:
    outcome = CliRunner().invoke(main, ["runs", "show", "nobody", "--endpoint-url", endpoint])

    assert outcome.exit_code != 0
    assert "redrive runs list" in outcome.stderr


def test_schedule_that_is_shown_says_how_to_see_the_timeline(endpoint: str) -> None:
    (run,) = json.loads(ask(endpoint, "runs", "list", "--state", "delivered").stdout)["runs"]

    told = ask(endpoint, "schedules", "show", "works", "-o", "table")

    assert f"redrive runs show {run['execution_id']}" in told.stderr.replace("\n", " ")
