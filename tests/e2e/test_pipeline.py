"""The pipeline as a user meets it: deployed by the aws CLI, run by the clock, read with boto3."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e.conftest import TEMPLATE, ServerProcess

Start = Callable[..., ServerProcess]


def deploy(server: ServerProcess) -> None:
    server.aws(
        "cloudformation", "deploy", "--template-file", str(TEMPLATE), "--stack-name", "demo",
        "--capabilities", "CAPABILITY_IAM",
    )  # fmt: skip


def statuses(server: ServerProcess) -> list[str]:
    items = server.client("dynamodb").scan(TableName="demo-executions")["Items"]
    return sorted(item["status"]["S"] for item in items)


def test_aws_cli_deploys_the_example_and_a_day_passes_in_virtual_time(start: Start) -> None:
    server = start("--clock", "virtual")

    deploy(server)
    server.redrive("clock", "advance", "23h")

    assert statuses(server) == ["SUCCESS"] * 24


def test_same_seed_gives_the_same_execution_ids(start: Start) -> None:
    seen = []
    for _ in range(2):
        server = start("--clock", "virtual", "--seed", "7")
        deploy(server)
        server.redrive("clock", "advance", "2h")
        items = server.client("dynamodb").scan(TableName="demo-executions")["Items"]
        seen.append(sorted(item["execution_id"]["S"] for item in items))

    assert seen[0] == seen[1]


def test_function_output_reaches_cloudwatch_logs(start: Start) -> None:
    server = start("--clock", "virtual")
    deploy(server)
    server.redrive("clock", "advance", "1h")

    events = server.client("logs").filter_log_events(logGroupName="/aws/lambda/demo-run-job")["events"]

    assert [event["message"].split()[0] for event in events[:1]] == ["START"] or events[0]["message"].startswith("INIT")
    assert any(event["message"].startswith("REPORT RequestId:") for event in events)


def test_killed_server_goes_on_where_it_was(start: Start, tmp_path: Path) -> None:
    options = ("--clock", "virtual", "--data", str(tmp_path / "data"))
    server = start(*options)
    deploy(server)
    server.redrive("clock", "advance", "5h")
    before = json.loads(server.redrive("clock", "show", "-o", "json"))["now_ms"]

    server.kill()
    again = start(*options)

    assert json.loads(again.redrive("clock", "show", "-o", "json"))["now_ms"] == before
    again.redrive("clock", "advance", "5h")
    assert statuses(again) == ["SUCCESS"] * 11


def test_schedule_fires_in_real_time(start: Start) -> None:
    server = start()
    deploy(server)
    sqs, dynamodb = server.client("sqs"), server.client("dynamodb")

    # The rate schedule fires on creation; the queue drains once its function has answered.
    queue_url = sqs.get_queue_url(QueueName="demo-jobs")["QueueUrl"]
    for _ in range(20):
        if statuses(server) == ["SUCCESS"]:
            break
        sqs.receive_message(QueueUrl=queue_url, WaitTimeSeconds=1, VisibilityTimeout=0)

    assert statuses(server) == ["SUCCESS"]
    assert len(dynamodb.scan(TableName="demo-reports")["Items"]) == 1
