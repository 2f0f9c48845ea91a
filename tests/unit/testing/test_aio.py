"""aiobotocore's clients reach the world that is reached, as boto3's do. Runs where aiobotocore is installed."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from redrive.core.errors import UserError
from redrive.testing.world import World

aio_session = pytest.importorskip("aiobotocore.session")

TRUST = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    def refuse(*arguments: object, **_: object) -> None:
        raise AssertionError(f"a connection was opened: {arguments}")

    world = World()
    with world.reached():
        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        yield world
    world.close()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_async_client_reaches_the_world(world: World) -> None:
    async def use() -> str:
        async with aio_session.get_session().create_client("sqs") as sqs:
            queue = (await sqs.create_queue(QueueName="orders"))["QueueUrl"]
            await sqs.send_message(QueueUrl=queue, MessageBody="hello")
            return str((await sqs.receive_message(QueueUrl=queue))["Messages"][0]["Body"])

    assert run(use()) == "hello"
    assert len(world.client("sqs").list_queues()["QueueUrls"]) == 1


def test_answers_that_are_streams_can_be_read(world: World) -> None:
    role = world.client("iam").create_role(
        RoleName="runs", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
    )["Role"]["Arn"]
    world.client("lambda").create_function(
        FunctionName="double", Role=role, Runtime="python3.11", Handler="app.handler", Code={"ZipFile": _package()}
    )

    async def use() -> tuple[object, object]:
        async with aio_session.get_session().create_client("lambda") as client:
            whole = await (await client.invoke(FunctionName="double", Payload=b"21"))["Payload"].read()
            async with (await client.invoke(FunctionName="double", Payload=b"2"))["Payload"] as body:
                return json.loads(whole), json.loads(await body.read())

    assert run(use()) == (42, 4)


def test_error_is_the_clients_own(world: World) -> None:
    async def use() -> None:
        async with aio_session.get_session().create_client("sqs") as sqs:
            with pytest.raises(sqs.exceptions.QueueDoesNotExist):
                await sqs.get_queue_url(QueueName="nowhere")

    run(use())


def test_items_and_numbers_come_back(world: World) -> None:
    async def use() -> object:
        async with aio_session.get_session().create_client("dynamodb") as dynamodb:
            await dynamodb.create_table(
                TableName="items", BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            )  # fmt: skip
            await dynamodb.put_item(TableName="items", Item={"id": {"S": "a"}, "n": {"N": "1.5"}})
            return (await dynamodb.get_item(TableName="items", Key={"id": {"S": "a"}}))["Item"]["n"]

    assert run(use()) == {"N": "1.5"}


def test_call_that_is_not_served_is_an_error_that_names_it(world: World) -> None:
    async def use() -> None:
        async with aio_session.get_session().create_client("s3") as s3:
            with pytest.raises(UserError, match=r"^s3 "):
                await s3.list_buckets()

    run(use())


def test_client_made_before_reaches_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    world = World()

    async def use() -> None:
        async with aio_session.get_session().create_client("sqs", region_name="us-east-1") as sqs:
            with world.reached():
                await sqs.create_queue(QueueName="orders")

    run(use())
    assert len(world.client("sqs").list_queues()["QueueUrls"]) == 1
    world.close()


def _package() -> bytes:
    import io  # noqa: PLC0415 - needed here alone.
    import zipfile  # noqa: PLC0415 - as above.

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(
            "app.py",
            "import asyncio\n\nasync def twice(n):\n    return 2 * n\n\n"
            "def handler(event, context):\n    return asyncio.run(twice(event))\n",
        )
    return content.getvalue()
