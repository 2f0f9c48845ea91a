"""Calls of aiobotocore's and aioboto3's clients are those of the handler; where they are not installed, of doubles."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from redrive.prove.judge.judge import Rule
from redrive.prove.process.clients import remembered_clients
from redrive.prove.process.memory import memory_of
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

DOUBLES = Path(__file__).parents[2] / "support" / "doubles"
HEAD = """import asyncio
import json
import os
import time
import aioboto3
from aiobotocore.session import get_session

QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/mails"


def handler(event, context):
    return asyncio.run(handle(json.loads(event["Records"][0]["body"])))


async def send(sqs, text):
    await sqs.send_message(QueueUrl=QUEUE, MessageBody=text)


async def handle(order):
"""
ORDER = '{"order": "o-1", "amount": 5}'


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The installed libraries, or doubles of them."""
    if importlib.util.find_spec("aiobotocore") is not None:
        pytest.importorskip("aioboto3")
        yield
        return
    monkeypatch.syspath_prepend(DOUBLES)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in {"aioboto3", "aiobotocore"}]:
        del sys.modules[name]


def proved(folder: Path, body: str, *, faults: int = 1) -> Verdict:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    (folder / "app_aio.py").write_text(HEAD + lines, "utf-8")
    return prove(subject_of("app_aio:handler", folder), Options(faults=faults, bodies=(ORDER,)))


@pytest.mark.parametrize(
    ("call", "is_safe"),
    [
        ('put_item(TableName="orders", Item={"id": {"S": order["order"]}})', True),
        (
            """update_item(TableName="totals", Key={"id": {"S": "all"}}, UpdateExpression="ADD pieces :n",
                ExpressionAttributeValues={":n": {"N": str(order["amount"])}})""",
            False,
        ),
    ],
)
def test_call_that_counts_is_repeated_and_one_under_a_key_is_not(tmp_path: Path, call: str, *, is_safe: bool) -> None:
    verdict = proved(
        tmp_path, f'async with get_session().create_client("dynamodb") as client:\n    await client.{call}'
    )

    assert (verdict.counterexample is None) == is_safe


def test_lost_answer_of_a_claim_loses_the_work(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
session = aioboto3.Session()
async with session.client("dynamodb") as ddb, session.client("sqs") as sqs:
    try:
        claim = {"TableName": "claims", "Item": {"id": {"S": order["order"]}}}
        await ddb.put_item(**claim, ConditionExpression="attribute_not_exists(id)")
    except ddb.exceptions.ConditionalCheckFailedException as error:
        assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
        return
    await send(sqs, order["order"])
""",
    )

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL


def test_body_of_an_object_is_awaited_and_what_is_read_of_it_is_guessed(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
async with get_session().create_client("s3") as s3:
    found = await s3.get_object(Bucket="orders", Key=order["order"])
    async with found["Body"] as stream:
        sku = json.loads(await stream.read())["sku"]
    parts = [part async for part in (await s3.get_object(Bucket="orders", Key=order["order"]))["Body"].iter_chunks(4)]
    assert json.loads(b"".join(parts))["sku"] == sku
    await s3.put_object(Bucket="done", Key=order["order"], Body=sku)
    assert (await s3.get_bucket_location(Bucket="done"))["LocationConstraint"] is None
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"PutObject on done": 1}


def test_calls_that_are_made_at_once_come_in_the_order_in_which_they_were_begun(tmp_path: Path) -> None:
    """Sets of tasks, too, are the same from run to run: otherwise the handler would be one that draws."""
    verdict = proved(
        tmp_path,
        """
async with get_session().create_client("sqs") as sqs:
    await asyncio.gather(*(send(sqs, f"a{number}") for number in range(3)))
    for done in asyncio.as_completed([send(sqs, f"b{number}") for number in range(9)]):
        await done
    begun = {asyncio.create_task(send(sqs, f"c{number}"), name=str(number)) for number in range(9)}
    done, _ = await asyncio.wait(begun)
    assert [task.get_name() for task in done] == list("012345678")
""",
    )

    assert verdict.counterexample is not None
    assert verdict.draws == 1
    assert verdict.effects == {"message to mails": 21}


def test_group_of_tasks_ends_with_its_run(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
async with get_session().create_client("sqs") as sqs, asyncio.TaskGroup() as group:
    for number in range(2):
        group.create_task(send(sqs, str(number)))
""",
    )

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE


def test_waiters_are_awaited_in_virtual_time_and_end_where_answers_are_made_up(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
async with get_session().create_client("s3") as s3, get_session().create_client("ec2") as ec2:
    await s3.put_object(Bucket="done", Key=order["order"], Body=b"x")
    await s3.get_waiter("object_exists").wait(Bucket="done", Key=order["order"])
    at = time.time()
    await ec2.get_waiter("instance_running").wait(InstanceIds=["i-1"])
    await ec2.get_waiter("instance_stopped").wait(InstanceIds=["i-1"])
    assert time.time() == at
""",
    )

    assert verdict.counterexample is None


def test_clients_of_boto3_and_of_aioboto3_are_told_apart(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
import boto3
boto3.client("sqs").get_queue_url(QueueName="mails")
async with aioboto3.Session().client("sqs") as sqs:
    assert (await sqs.get_queue_url(QueueName="mails"))["QueueUrl"].endswith("/mails")
async with aioboto3.Session().client("sqs") as sqs:
    await send(sqs, order["order"])
""",
    )

    assert verdict.effects == {"message to mails": 1}


def test_event_loop_of_a_module_is_that_of_its_environment(tmp_path: Path) -> None:
    """A loop that a module asks for is there in each run, also where another run has closed its own."""
    (tmp_path / "app_loop.py").write_text(
        """import asyncio
from aiobotocore.session import get_session

loop = asyncio.get_event_loop()


async def put(key):
    async with get_session().create_client("dynamodb") as client:
        await client.put_item(TableName="seen", Item={"id": {"S": key}})


def handler(event, context):
    loop.run_until_complete(put(event["Records"][0]["body"]))
    asyncio.run(put("last"))
""",
        "utf-8",
    )

    verdict = prove(subject_of("app_loop:handler", tmp_path), Options(faults=1, bodies=("o-1",)))

    assert verdict.counterexample is None


def test_later_sessions_await_the_event_handlers_of_the_first() -> None:
    with remembered_clients():
        module = importlib.import_module("aiobotocore.session")
        module.AioSession()
        session, seen = module.AioSession(), list[str]()

        async def note(**_: Any) -> None:
            seen.append("awaited")

        session.register("my-event", note)
        hooks = session.get_component("event_emitter")
        asyncio.run(hooks.emit("my-event"))
        handlers = [handler for handler, _ in asyncio.run(hooks.emit("creating-client-class.s3", **_LISTS))]

    assert type(vars(session)["_original_handler"]).__name__ == "LateEmitter"
    assert seen == ["awaited"]
    assert handlers


_LISTS: dict[str, Any] = {"class_attributes": {}, "base_classes": [], "service_id": "s3"}


def test_sessions_and_clients_that_are_made_late_are_no_memory() -> None:
    early, late = ModuleType("app"), ModuleType("app")
    vars(early)["session"] = importlib.import_module("aiobotocore.session").get_session()
    vars(late)["session"] = None

    assert memory_of({"app": early}).told == memory_of({"app": late}).told
