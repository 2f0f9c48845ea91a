"""Servers that share a store in PostgreSQL: what one does, the others see; and what happens without the store."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from botocore.exceptions import ClientError
from psycopg.conninfo import conninfo_to_dict

from redrive import __version__
from redrive.core.clock import DAY_MS, SECOND_MS, Instant, format_instant, machine_ms
from redrive.core.errors import UserError
from redrive.core.log import SilentLog
from redrive.gateway.server import Options, Server, running
from redrive.store.postgres.url import StoreUrl, parse_url
from tests.unit.gateway.test_server import ALLOWED, TRUST, ask, client

CALLS_MAX = 3_000
"""How many calls a condition may take to come true: each takes a millisecond or more."""


@pytest.fixture
def url(postgresql_store_url: str) -> StoreUrl:
    return parse_url(postgresql_store_url)


@pytest.fixture
def admin(postgresql_url: str) -> Iterator[psycopg.Connection]:
    """A connection of the superuser, to another database of the server."""
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as connection:
        yield connection


@pytest.fixture
def pair(url: StoreUrl) -> Iterator[tuple[Server, Server]]:
    """Two nodes in real time."""
    with running(Options(port=0, data=url), SilentLog()) as one, running(Options(port=0, data=url), SilentLog()) as two:
        yield one, two


def code_of(call: Callable[[], object]) -> tuple[int, str]:
    """The status and the code that a call is answered with; 200 and nothing if it is done."""
    try:
        call()
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]
    return 200, ""


def until(call: Callable[[], object], status: int) -> tuple[int, str]:
    """Call until the status is this one; the last answer."""
    answer = (0, "")
    for _ in range(CALLS_MAX):
        answer = code_of(call)
        if answer[0] == status:
            break
    return answer


def shut(admin: psycopg.Connection, url: StoreUrl) -> str:
    """Let nobody into the database, and end all that are in it. Returns its name."""
    name = str(conninfo_to_dict(url.conninfo)["dbname"])
    admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
    admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
    return name


def test_node_without_its_database_answers_503_and_goes_on_when_it_is_back(
    url: StoreUrl, admin: psycopg.Connection
) -> None:
    with running(Options(port=0, data=url), SilentLog()) as server:
        sqs = client(server, "sqs")
        queue_url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        sqs.send_message(QueueUrl=queue_url, MessageBody="before")

        name = shut(admin, url)
        away = until(sqs.list_queues, 503)
        dynamodb_away = code_of(client(server, "dynamodb").list_tables)
        health, _ = ask(server, "GET", "health")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        back = until(sqs.list_queues, 200)
        received = sqs.receive_message(QueueUrl=queue_url)["Messages"]

    assert away == (503, "ServiceUnavailable")
    assert dynamodb_away == (503, "ServiceUnavailableException")
    assert health == 200
    assert back == (200, "")
    assert [message["Body"] for message in received] == ["before"]


def test_schedules_fire_after_the_database_was_away(url: StoreUrl, admin: psycopg.Connection) -> None:
    with running(Options(port=0, data=url), SilentLog()) as server:
        sqs, queue_url = scheduled(server, in_ms=1_000)
        name = shut(admin, url)
        until(sqs.list_queues, 503)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        until(sqs.list_queues, 200)

        received = sqs.receive_message(QueueUrl=queue_url, WaitTimeSeconds=20)["Messages"]

    assert [message["Body"] for message in received] == ["due"]


def test_schedules_fire_by_the_databases_clock_whatever_the_machine_says(url: StoreUrl) -> None:
    def tomorrow() -> Instant:
        return machine_ms() + DAY_MS

    with running(Options(port=0, data=url), SilentLog(), machine=tomorrow) as server:
        sqs, due_url = scheduled(server, in_ms=1_000)
        _, far_url = scheduled(server, in_ms=DAY_MS // 2, name="far")
        with psycopg.connect(url.conninfo) as connection:
            before = now_of(connection)
            _, clock = ask(server, "GET", "clock")
            after = now_of(connection)

        received = sqs.receive_message(QueueUrl=due_url, WaitTimeSeconds=20)["Messages"]
        too_early = sqs.receive_message(QueueUrl=far_url)

    assert before - 1_000 <= clock["now_ms"] <= after + 1_000
    assert [message["Body"] for message in received] == ["due"]
    assert "Messages" not in too_early


def test_definitions_that_one_node_changes_hold_on_the_other_at_once(pair: tuple[Server, Server]) -> None:
    one, two = (client(server, "sqs") for server in pair)

    queue_url = one.create_queue(QueueName="orders")["QueueUrl"]
    two.send_message(QueueUrl=queue_url, MessageBody="hello")
    one.set_queue_attributes(QueueUrl=queue_url, Attributes={"DelaySeconds": "7"})
    seen = two.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["DelaySeconds"])["Attributes"]
    one.delete_queue(QueueUrl=queue_url)
    gone = code_of(lambda: two.send_message(QueueUrl=queue_url, MessageBody="late"))

    assert seen == {"DelaySeconds": "7"}
    assert gone == (400, "AWS.SimpleQueueService.NonExistentQueue")


def test_queue_that_a_node_did_not_find_is_found_once_the_other_has_made_it(pair: tuple[Server, Server]) -> None:
    one, two = (client(server, "sqs") for server in pair)

    missing = code_of(lambda: two.get_queue_url(QueueName="orders"))
    one.create_queue(QueueName="orders")
    found = code_of(lambda: two.get_queue_url(QueueName="orders"))

    assert missing == (400, "AWS.SimpleQueueService.NonExistentQueue")
    assert found == (200, "")


def test_each_node_lists_all_nodes_until_they_have_left(url: StoreUrl) -> None:
    with running(Options(port=0, data=url), SilentLog()) as one:
        with running(Options(port=0, data=url, slots=5), SilentLog()) as two:
            listed = until_listed(one, 2)
            listed_by_two = until_listed(two, 2)
        left = until_listed(one, 1)

    assert [node["url"] for node in listed] == [one.endpoint_url, two.endpoint_url]
    assert [node["slots"] for node in listed_by_two] == [32, 5]
    assert all(node["process"] == os.getpid() and node["version"] == __version__ for node in listed)
    assert all(node["silent_ms"] >= 0 and node["underway"] == 0 for node in listed)
    assert [node["url"] for node in left] == [one.endpoint_url]


def test_store_of_its_own_has_one_node(tmp_path: Path) -> None:
    with running(Options(port=0, data=tmp_path), SilentLog()) as server:
        _, answer = ask(server, "GET", "nodes")

    assert [(node["url"], node["silent_ms"]) for node in answer["nodes"]] == [(server.endpoint_url, 0)]
    assert (answer["due"], answer["leased"], answer["lag_ms"]) == (0, 0, 0)


def until_listed(server: Server, count: int) -> list[dict[str, Any]]:
    """What a server lists, once there are so many nodes."""
    nodes: list[dict[str, Any]] = []
    for _ in range(CALLS_MAX):
        nodes = ask(server, "GET", "nodes")[1]["nodes"]
        if len(nodes) == count:
            break
    return nodes


def test_name_that_both_nodes_make_at_once_is_made_once(pair: tuple[Server, Server]) -> None:
    tables = [client(server, "dynamodb") for server in pair] * 4

    def create(dynamodb: Any) -> tuple[int, str]:
        return code_of(
            lambda: dynamodb.create_table(
                TableName="kept", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            )
        )  # fmt: skip

    with ThreadPoolExecutor(len(tables)) as threads:
        answers = sorted(threads.map(create, tables))

    assert answers == [(200, "")] + [(400, "ResourceInUseException")] * (len(tables) - 1)


def test_long_poll_gets_what_is_sent_through_another_node(pair: tuple[Server, Server]) -> None:
    one, two = (client(server, "sqs") for server in pair)
    queue_url = one.create_queue(QueueName="orders")["QueueUrl"]

    with ThreadPoolExecutor(1) as threads:
        polling = threads.submit(one.receive_message, QueueUrl=queue_url, WaitTimeSeconds=20)
        two.send_message(QueueUrl=queue_url, MessageBody="hello")
        received = polling.result()["Messages"]

    assert [message["Body"] for message in received] == ["hello"]


def test_node_that_stops_lets_its_functions_end_and_keeps_what_they_did(url: StoreUrl, tmp_path: Path) -> None:
    """Another node would otherwise wait for the lease, and run the function again."""
    started = tmp_path / "started"
    with running(Options(port=0, data=url), SilentLog()) as server:
        sqs, queue_url = mapped(server, started)
        sqs.send_message(QueueUrl=queue_url, MessageBody="hello")
        until_true(started.exists, sqs.list_queues)
    with running(Options(port=0, data=url), SilentLog()) as server:
        asked = {"QueueUrl": queue_url, "AttributeNames": ["All"]}
        left = client(server, "sqs").get_queue_attributes(**asked)["Attributes"]
        _, work = ask(server, "GET", "nodes")

    assert (left["ApproximateNumberOfMessages"], left["ApproximateNumberOfMessagesNotVisible"]) == ("0", "0")
    assert (work["due"], work["leased"]) == (0, 0)
    assert started.read_text() == "run\n"


def mapped(server: Server, started: Path) -> tuple[Any, str]:
    """A queue that a function takes a second for; it writes a line to a file when it starts."""
    iam, sqs, functions = (client(server, service) for service in ("iam", "sqs", "lambda"))
    role = iam.create_role(RoleName="f", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    iam.put_role_policy(RoleName="f", PolicyName="all", PolicyDocument=ALLOWED)
    queue_url = sqs.create_queue(QueueName="work")["QueueUrl"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        body = f"    open({str(started)!r}, 'a').write('run\\n')\n    time.sleep(1)\n"
        archive.writestr("app.py", f"import time\ndef handler(event, context):\n{body}")
    functions.create_function(
        FunctionName="f", Role=role, Runtime="python3.12", Handler="app.handler", Code={"ZipFile": packed.getvalue()}
    )
    functions.create_event_source_mapping(
        EventSourceArn="arn:aws:sqs:us-east-1:000000000000:work", FunctionName="f"
    )  # fmt: skip
    return sqs, queue_url


def until_true(condition: Callable[[], bool], meanwhile: Callable[[], object]) -> None:
    """Wait for a condition; `meanwhile` takes the time of a call."""
    for _ in range(10 * CALLS_MAX):
        if condition():
            return
        meanwhile()
    raise AssertionError("the condition has not come true")


@pytest.mark.parametrize("first", [True, False], ids=["virtual", "real"])
@pytest.mark.parametrize("second", [True, False], ids=["virtual", "real"])
def test_store_in_virtual_time_has_one_node(url: StoreUrl, first: bool, second: bool) -> None:
    with running(Options(port=0, data=url, virtual=first), SilentLog()) as server:
        try:
            with running(Options(port=0, data=url, virtual=second), SilentLog()):
                refused = ""
        except UserError as error:
            refused = str(error)
        goes_on = code_of(client(server, "sqs").list_queues)

    assert goes_on == (200, "")
    assert refused.startswith(f"{url} is in use by ") if first or second else refused == ""


def scheduled(server: Server, *, in_ms: int, name: str = "once") -> tuple[Any, str]:
    """A schedule into a queue of its name, due at the second after so many milliseconds of the server's time."""
    iam, sqs, scheduler = (client(server, service) for service in ("iam", "sqs", "scheduler"))
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="all", PolicyDocument=ALLOWED)
    queue_url = sqs.create_queue(QueueName=name)["QueueUrl"]
    due_at = format_instant(ask(server, "GET", "clock")[1]["now_ms"] + in_ms + SECOND_MS)
    scheduler.create_schedule(
        Name=name, ScheduleExpression=f"at({due_at.rstrip('Z')})", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": f"arn:aws:sqs:us-east-1:000000000000:{name}", "RoleArn": role, "Input": "due"},
    )  # fmt: skip
    return sqs, queue_url


def now_of(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone()
    assert row is not None
    return int(row[0])
