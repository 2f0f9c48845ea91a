"""The day, with boto3: deploy, inject failures, advance time, repair, redrive, check what is left."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

import boto3
from botocore.config import Config

from redrive.languages.template import load_template

STACK = "demo"
HOURS = 24
RECOVERS, CRASHES, DOUBLED, POISON = 3, 7, 11, 16
"""The hours with a failure or a duplicate."""

RETRIES_END_S = 15 * 60
"""Long enough for a message of the example to be received as often as its queue allows."""


@dataclass(frozen=True, slots=True)
class ToldExecution:
    """One execution of the schedule, from its record at the end. `effects` counts the reports it wrote."""

    execution_id: str
    scheduled_time: str
    status: str
    attempts: int
    messages: int
    effects: int
    story: str


@dataclass(frozen=True, slots=True)
class Day:
    """The result of the day, and its problems."""

    executions: list[ToldExecution]
    expected: list[str]
    queued: int
    dead: int
    redriven: str
    problems: list[str] = field(default_factory=list)


class Story:
    """Runs the day on a server in virtual time. `advance(seconds)` moves its clock; `say(text)` reports progress."""

    def __init__(self, endpoint_url: str, advance: Callable[[float], None], say: Callable[[str], None]) -> None:
        session = boto3.session.Session("000000000000", "demo", region_name="us-east-1")
        config = Config(retries={"total_max_attempts": 1})

        def client(service: str) -> Any:
            return session.client(service, endpoint_url=endpoint_url, config=config)

        self._cloudformation = client("cloudformation")
        self._lambda = client("lambda")
        self._scheduler = client("scheduler")
        self._sqs = client("sqs")
        self._dynamodb = client("dynamodb")
        self._advance = advance
        self._say = say
        self._stories: dict[str, str] = {}

    def tell(self, passed: Callable[[int], None]) -> Day:
        """Run the day; calls `passed` after each hour."""
        outputs = self._deploy()
        first_at = self._first_occurrence(outputs)
        self._make_trouble(outputs, first_at)
        for hour in range(1, HOURS):
            self._advance(3_600)
            if hour - 1 == DOUBLED:
                self._deliver_again(outputs, _hour(first_at, DOUBLED))
            passed(hour)
        self._advance(RETRIES_END_S)
        passed(HOURS)
        redriven = self._repair_and_redrive(outputs)
        return self._look(outputs, [_hour(first_at, hour) for hour in range(HOURS)], redriven)

    def _deploy(self) -> Mapping[str, str]:
        """Deploy the example's template as a user would, and wait for the end."""
        template = resources.files("redrive.demo").joinpath("template.yaml").read_text("utf-8")
        self._cloudformation.create_stack(
            StackName=STACK, TemplateBody=template, Capabilities=["CAPABILITY_IAM"], OnFailure="DO_NOTHING"
        )
        self._advance(0)
        stack = self._cloudformation.describe_stacks(StackName=STACK)["Stacks"][0]
        if stack["StackStatus"] != "CREATE_COMPLETE":
            raise RuntimeError(
                f"the example was not deployed: {stack['StackStatus']} {stack.get('StackStatusReason', '')}"
            )
        self._say(
            "Deployed the example: an hourly schedule, a queue with its dead-letter queue, a function, two tables."
        )
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def _first_occurrence(self, outputs: Mapping[str, str]) -> datetime:
        """A rate schedule without a start counts from its creation."""
        created: datetime = self._scheduler.get_schedule(Name=outputs["ScheduleName"])["CreationDate"]
        return created.astimezone(UTC)

    def _make_trouble(self, outputs: Mapping[str, str], first_at: datetime) -> None:
        trouble = {
            _hour(first_at, RECOVERS): ["fail", "fail", "ok"],
            _hour(first_at, CRASHES): ["crash", "ok"],
            _hour(first_at, POISON): ["fail"],
        }
        self._stories = {
            _hour(first_at, RECOVERS): "failed twice, then recovered",
            _hour(first_at, CRASHES): "crashed after its effect, was run again",
            _hour(first_at, DOUBLED): "its message was delivered twice",
            _hour(first_at, POISON): "failed until it was dead-lettered; repaired and redriven",
        }
        function = outputs["FunctionName"]
        configuration = self._lambda.get_function_configuration(FunctionName=function)
        variables = configuration["Environment"]["Variables"] | {"TROUBLE": json.dumps(trouble)}
        source = resources.files("redrive.demo").joinpath("trouble.py").read_text("utf-8")
        self._lambda.update_function_code(FunctionName=function, ZipFile=_archive(self._handler(), trouble=source))
        self._lambda.update_function_configuration(
            FunctionName=function, Handler="trouble.handler", Environment={"Variables": variables}
        )
        self._say("Arranged for trouble: two failures, a crash, a duplicate, and a job that cannot succeed.")

    def _handler(self) -> str:
        """The handler's source, from the deployed template."""
        body = self._cloudformation.get_template(StackName=STACK)["TemplateBody"]
        properties: Any = load_template(body).resources["Function"].properties
        return str(properties["Code"]["ZipFile"])

    def _deliver_again(self, outputs: Mapping[str, str], scheduled_time: str) -> None:
        """Send the message of one execution a second time, as queues and schedules may: they deliver at least once."""
        item = next(item for item in self._executions(outputs) if item["scheduled_time"]["S"] == scheduled_time)
        context = {"execution_id": item["execution_id"]["S"], "scheduled_time": scheduled_time}
        body = json.dumps({"context": context, "payload": {"report": "daily-sales"}})
        self._sqs.send_message(QueueUrl=outputs["JobsQueueUrl"], MessageBody=body)

    def _repair_and_redrive(self, outputs: Mapping[str, str]) -> str:
        """Deploy the handler without the failures and redrive the dead letter; returns its execution id."""
        self._lambda.update_function_configuration(FunctionName=outputs["FunctionName"], Handler="index.handler")
        dead_letters = outputs["DeadLetterQueueUrl"]
        # They stay visible, so that the move task finds them.
        dead = self._sqs.receive_message(QueueUrl=dead_letters, MaxNumberOfMessages=10, VisibilityTimeout=0).get(
            "Messages", []
        )
        found = self._sqs.get_queue_attributes(QueueUrl=dead_letters, AttributeNames=["QueueArn"])
        self._sqs.start_message_move_task(SourceArn=found["Attributes"]["QueueArn"])
        redriven = ", ".join(json.loads(message["Body"])["context"]["execution_id"] for message in dead)
        self._say(f"Repaired the function and redrove the dead letter, under the same execution id: {redriven}")
        self._advance(60)
        return redriven

    def _look(self, outputs: Mapping[str, str], expected: list[str], redriven: str) -> Day:
        effects = [item["execution_id"]["S"] for item in self._items(outputs["ReportsTableName"])]
        executions = [self._execution(item, effects) for item in self._executions(outputs)]
        queued = self._depth(outputs["JobsQueueUrl"])
        dead = self._depth(outputs["DeadLetterQueueUrl"])
        problems = _problems(executions, effects, expected, queued + dead)
        return Day(executions, expected, queued, dead, redriven, problems)

    def _execution(self, item: Mapping[str, Any], effects: list[str]) -> ToldExecution:
        execution_id, scheduled_time = item["execution_id"]["S"], item["scheduled_time"]["S"]
        return ToldExecution(
            execution_id=execution_id,
            scheduled_time=scheduled_time,
            status=item["status"]["S"],
            attempts=int(item["attempts"]["N"]),
            messages=len(item["messages"]["SS"]),
            effects=effects.count(execution_id),
            story=self._stories.get(scheduled_time, ""),
        )

    def _executions(self, outputs: Mapping[str, str]) -> list[Mapping[str, Any]]:
        items = self._items(outputs["ExecutionsTableName"])
        return sorted(items, key=lambda item: str(item["scheduled_time"]["S"]))

    def _items(self, table: str) -> list[Mapping[str, Any]]:
        pages = self._dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def _depth(self, queue_url: str) -> int:
        """The number of messages in a queue, in any state."""
        attributes = self._sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["All"])["Attributes"]
        return sum(int(value) for name, value in attributes.items() if name.startswith("ApproximateNumberOf"))


def _problems(executions: list[ToldExecution], effects: list[str], expected: list[str], left: int) -> list[str]:
    """Two checks: every execution has exactly one effect, and nothing is lost. Empty if both hold."""
    problems = [
        f"execution {one.execution_id} ({one.scheduled_time}) is {one.status} with {one.effects} effects"
        for one in executions
        if one.effects != 1 or one.status != "SUCCESS"
    ]
    scheduled = [one.scheduled_time for one in executions]
    problems += [f"the occurrence of {time} was lost" for time in expected if time not in scheduled]
    problems += [f"the occurrence of {time} was not to be" for time in scheduled if time not in expected]
    if len(effects) != len(executions):
        problems.append(f"{len(effects)} effects of {len(executions)} executions")
    if left:
        problems.append(f"{left} messages are left in the queues")
    return problems


def _hour(first_at: datetime, hour: int) -> str:
    return (first_at + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _archive(index: str, **modules: str) -> bytes:
    """A zip archive of Python modules."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in ({"index": index} | modules).items():
            archive.writestr(f"{name}.py", source)
    return content.getvalue()
