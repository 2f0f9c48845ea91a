"""The examples do what they say, with boto3, on an engine in memory."""

from __future__ import annotations

import base64
import io
import json
import runpy
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import boto3
import pytest
import time_machine

from redrive.testing.world import World
from tests.unit.handler.conftest import TABLE, create_table

EXAMPLES = Path(__file__).parents[3] / "examples" / "handlers"
ARN = "arn:aws:sqs:us-east-1:000000000000:jobs"


@pytest.fixture
def example(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SimpleNamespace]]:
    """Runs an example's module, whose boto3 clients reach the world."""
    monkeypatch.setenv("EXECUTIONS_TABLE", TABLE)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # It would keep the credentials of whoever made it.

    def load(name: str, **variables: str) -> SimpleNamespace:
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        return SimpleNamespace(**runpy.run_path(str(EXAMPLES / f"{name}.py")))

    with world.reached():
        yield load


def batch(*bodies: object) -> dict[str, object]:
    return {
        "Records": [
            {"messageId": f"m-{n}", "body": json.dumps(body), "attributes": {}, "eventSourceARN": ARN}
            for n, body in enumerate(bodies)
        ]
    }


def test_every_example_starts_with_why_you_would_want_it() -> None:
    for path in EXAMPLES.glob("*.py"):
        assert "\nWhy you would want it: " in path.read_text(encoding="utf-8").split('"""')[1], path.name


def test_every_example_is_run_here() -> None:
    own = Path(__file__).read_text(encoding="utf-8")

    assert [path.stem for path in EXAMPLES.glob("*.py") if f'example("{path.stem}"' not in own] == []


def test_scheduled_report_is_written_once_for_an_execution(example, world: World) -> None:
    create_table(world, "reports")
    report = example("scheduled_report", REPORTS_TABLE="reports")
    work = {"context": {"execution_id": "x-1"}, "payload": {"report": "sales"}}

    answers = [report.handler(batch(work), None), report.handler(batch(work, {"context": {}}), None)]

    assert answers == [{"batchItemFailures": []}, {"batchItemFailures": [{"itemIdentifier": "m-1"}]}]
    assert world.client("dynamodb").scan(TableName="reports")["Items"] == [
        {"execution_id": {"S": "x-1"}, "report": {"S": "sales"}}
    ]


class Payments:
    """A payment service behind urllib: it knows a key again until it is told to forget, and may lose an answer."""

    def __init__(self) -> None:
        self.charges: list[dict[str, object]] = []
        self.known: dict[str, dict[str, object]] = {}
        self.loses_answers = False

    @contextmanager
    def urlopen(self, request: urllib.request.Request, timeout: float) -> Iterator[io.BytesIO]:
        if request.get_method() == "GET":
            answer: object = {"charges": self.charges}
        else:
            key = str(request.get_header("Idempotency-key"))
            if key not in self.known:
                self.known[key] = {"id": f"ch-{len(self.charges)}"}
                self.charges.append(self.known[key])
            answer = self.known[key]
            if self.loses_answers:
                raise urllib.error.HTTPError(request.full_url, 400, "lost", {}, io.BytesIO())  # type: ignore[arg-type]
        yield io.BytesIO(json.dumps(answer).encode())


def test_order_is_charged_once_though_the_service_forgot_its_key(
    example, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    payments = Payments()
    monkeypatch.setattr(urllib.request, "urlopen", payments.urlopen)
    ledger = str(tmp_path / "orders.db")
    order = {"order": "o-1", "cents": 5}
    payments.loses_answers = True
    with time_machine.travel("2025-01-03T18:00:00Z"), pytest.raises(urllib.error.HTTPError):
        example("charge_once", ORDERS_LEDGER=ledger, PAYMENTS_URL="http://payments").handler(order, None)

    payments.loses_answers = False
    payments.known.clear()
    with time_machine.travel("2025-01-06T09:00:00Z"):
        monday = example("charge_once", ORDERS_LEDGER=ledger, PAYMENTS_URL="http://payments").handler(order, None)

    assert monday == {"charge": "ch-0"}
    assert len(payments.charges) == 1


def test_object_is_imported_once_for_each_write_of_it(example) -> None:
    def written(sequencer: str) -> dict[str, object]:
        detail = {"bucket": {"name": "b"}, "object": {"key": "k.csv", "sequencer": sequencer}}
        return {"detail-type": "Object Created", "source": "aws.s3", "detail": detail}

    module = example("object_import")

    answer = module.handler(batch(written("01"), written("02")), None)
    again = module.handler(batch(written("01")), None)

    assert (answer, again) == ({"batchItemFailures": []}, {"batchItemFailures": []})
    assert module.imported == ["b/k.csv", "b/k.csv"]


class FakeClient:
    """Lambda and EventBridge, as far as the example asks them."""

    def __init__(self) -> None:
        self.failing: list[str] = ["NotAuthorizedForSourceException"]
        self.published: list[object] = []

    def invoke(self, **request: object) -> dict[str, object]:
        return {"StatusCode": 200, "Payload": io.BytesIO(b'{"lines": {"a": 1, "b": 2}}')}

    def put_events(self, Entries: list[dict[str, str]]) -> dict[str, object]:  # noqa: N803 - AWS's name.
        refused = [{"ErrorCode": code, "ErrorMessage": "no"} for code in self.failing]
        taken = [{"EventId": "id"} for _ in Entries[len(refused) :]]
        self.published += [json.loads(entry["Detail"])["line"] for entry in Entries[len(refused) :]]
        self.failing = []
        return {"FailedEntryCount": len(refused), "Entries": refused + taken}


def test_message_stays_until_all_its_events_are_published(
    example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = example("publish_results", BUS="orders", PRICE_FUNCTION="prices")
    client = FakeClient()
    monkeypatch.setitem(module.run.__wrapped__.__globals__, "lambda_client", client)
    monkeypatch.setitem(module.run.__wrapped__.__globals__, "events_client", client)

    first = module.handler(batch({"order": "o-1"}), None)
    second = module.handler(batch({"order": "o-1"}), None)

    assert (first, second) == ({"batchItemFailures": [{"itemIdentifier": "m-0"}]}, {"batchItemFailures": []})
    assert client.published == ["b", "a", "b"]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["EventsSent"], line["EventsLeft"]) for line in lines] == [(1, 1), (2, 0)]


def test_rows_and_success_are_one_transaction(example, tmp_path: Path) -> None:
    path = str(tmp_path / "books.db")
    module = example("one_transaction", DATABASE=path)
    event = {"context": {"schedule_arn": "arn", "scheduled_time": "t"}, "payload": {"cents": 7}}

    assert [module.handler(event, None), module.handler(event, None)] == [{"booked": 7}, {"booked": 7}]

    module.ledger.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT * FROM bookings").fetchall() == [("arn@t", 7)]
    connection.close()


def test_stream_goes_on_where_it_failed(example) -> None:
    def record(number: int, **image: object) -> dict[str, object]:
        change = {"SequenceNumber": str(number), "Keys": {"id": {"S": "a"}}, "NewImage": image}
        return {"eventID": f"e-{number}", "eventName": "INSERT", "eventSourceARN": "arn:stream", "dynamodb": change}

    module = example("ordered_stream")
    records = [record(1, title={"S": "one"}), record(2), record(3, title={"S": "three"})]

    assert module.handler({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert module.index == {"a": "one"}
    records[1] = record(2, title={"S": "two"})
    assert module.handler({"Records": records[1:]}, None) == {"batchItemFailures": []}
    assert module.index == {"a": "three"}


def test_account_stops_at_its_first_failure_and_each_movement_is_booked_once(example, world: World) -> None:
    dynamodb = world.client("dynamodb")
    dynamodb.create_table(
        TableName="balances", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "account", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "account", "KeyType": "HASH"}],
    )  # fmt: skip
    for account in "ab":
        dynamodb.put_item(TableName="balances", Item={"account": {"S": account}, "cents": {"N": "10"}})
    event = batch(
        *({"movement": n, "account": a, "cents": c} for n, a, c in (("1", "a", -15), ("2", "a", 7), ("3", "b", 5)))
    )
    for record, group in zip(event["Records"], "aab", strict=True):  # type: ignore[call-overload]
        record |= {"eventSourceARN": f"{ARN}.fifo", "attributes": {"MessageGroupId": group}}

    module = example("account_movements", BALANCES_TABLE="balances")
    answers = [module.handler(event, None), module.handler(event, None)]

    stopped = {"batchItemFailures": [{"itemIdentifier": "m-0"}, {"itemIdentifier": "m-1"}]}
    assert answers == [stopped, stopped]
    balances = {item["account"]["S"]: item["cents"]["N"] for item in dynamodb.scan(TableName="balances")["Items"]}
    assert balances == {"a": "10", "b": "15"}


def test_readings_of_a_stream_are_taken_once_and_in_the_order_of_their_sensor(example) -> None:
    readings = [("s1", 20.0), ("s2", 5.5), ("s1", 21.0)]
    records = [
        {
            "eventID": f"shardId-0:{number}", "eventSourceARN": "arn:aws:kinesis:us-east-1:000000000000:stream/s",
            "kinesis": {
                "partitionKey": sensor, "sequenceNumber": str(number),
                "data": base64.b64encode(json.dumps({"sensor": sensor, "degrees": degrees}).encode()).decode(),
            },
        }
        for number, (sensor, degrees) in enumerate(readings)
    ]  # fmt: skip
    module = example("sensor_readings")

    answers = [module.handler({"Records": records}, None) for _ in range(2)]

    assert answers == [{"batchItemFailures": []}] * 2
    assert module.latest == {"s1": 21.0, "s2": 5.5}


def test_event_is_answered_once_by_each_of_two_functions_over_one_table(example) -> None:
    module = example("order_placed")
    event = {"id": "e-1", "source": "shop", "detail-type": "Order Placed", "detail": {"order": "o-1"}}

    for _ in range(2):
        module.confirm(event, None)
        module.ship(event, None)

    assert (module.letters, module.parcels) == (["o-1"], ["o-1"])


def test_runs_that_died_are_found_in_a_table_of_powertools(example, world: World) -> None:
    dynamodb = world.client("dynamodb")
    dynamodb.create_table(
        TableName="idempotency", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )  # fmt: skip
    later = {"N": "4102444800"}
    for name, status, until in (
        ("dead", "INPROGRESS", "1"),
        ("alive", "INPROGRESS", "4102444800000"),
        ("done", "COMPLETED", "1"),
    ):
        item = {"id": {"S": name}, "status": {"S": status}, "expiration": later, "in_progress_expiration": {"N": until}}
        dynamodb.put_item(TableName="idempotency", Item=item)

    answer = example("powertools_table", POWERTOOLS_TABLE="idempotency").handler({}, None)

    assert answer == {"stuck": ["dead"]}
