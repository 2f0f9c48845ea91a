"""The reference of the server's own surface names what there is, and nothing else."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy, SystemEntropy
from redrive.core.log import SilentLog
from redrive.core.sessions import Issuer
from redrive.engine.driver import VirtualDrive
from redrive.engine.node import Facts, ServerNode
from redrive.engine.node_store import StoreFile
from redrive.gateway.admin import ANSWERS_PATH, BLOBS_PATH, Admin
from redrive.gateway.identity import Identity
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
)
REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/nightly"
FAULT = {"target": "*", "error": "ThrottlingException", "times": 1}

QUERIES = {
    "/_redrive/runs": f"source={SCHEDULE}",
    "/_redrive/schedules/next": "schedule=nightly",
    "/_redrive/store/backup/content": "id=1&offset=0",
}
BODIES = {
    "/_redrive/answers/{token}": b"{}",
    "/_redrive/clock": b'{"advance_s": 60}',
    "/_redrive/faults": json.dumps(FAULT).encode(),
    "/_redrive/redrives": json.dumps(
        {
            "plan": "plan.json",
            "queue": "arn:aws:sqs:us-east-1:000000000000:dead",
            "to": "arn:aws:sqs:us-east-1:000000000000:orders",
            "letters": [{"message_id": "m-1", "sent_as": "m-2"}],
        }
    ).encode(),
    "/_redrive/schedules/trigger": b'{"schedule": "nightly"}',
}


TYPES: dict[str, Any] = {
    "array": list, "boolean": bool, "integer": int, "number": int | float, "object": dict, "string": str,
}  # fmt: skip


NODE = {
    "host": "here", "url": "http://127.0.0.1:4566", "process": 1, "version": "1.0", "slots": 32, "underway": 0,
    "started": "2025-01-01T00:00:00Z", "silent_ms": 0,
}  # fmt: skip


class Desk:
    """A server's own surface over a world with a schedule that has fired, and a fault."""

    def __init__(self) -> None:
        world = self.world = World()
        assert isinstance(world.clock, VirtualClock)
        drive = VirtualDrive(world.engine, world.clock, SilentLog(), keep=lambda tx, at: None)
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        self.file = SqliteStore(place / "redrive.sqlite", clock=world.clock, entropy=SystemEntropy())
        world.store.run(lambda tx: tx.blobs.put("known", b"zip"))
        node = ServerNode(
            Facts("000000000000", "memory"), world.clock, drive, reset=world.store.reset,
            file=StoreFile(place / "redrive.sqlite", place / "backup"), nodes=lambda: [NODE],
        )  # fmt: skip
        self.issuer = Issuer(world.store.secret)
        self.admin = Admin(
            world.engine.registry, Models(), node,
            Identity(self.issuer, account="000000000000", clocks=[world.clock]), run=world.store.run,
            account="000000000000", clock=world.clock, entropy=SeededEntropy(1),
        )  # fmt: skip
        self.ask("POST", "/_redrive/store/backup")
        self.ask("PUT", "/_redrive/assets/b/k/l", body=b"file")
        self.tail: str = self.ask("POST", "/_redrive/events/tails", body=b"{}")["tail"]
        role = world.client("iam").create_role(RoleName="runs", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
        queue = "arn:aws:sqs:us-east-1:000000000000:gone"
        world.client("scheduler").create_schedule(
            Name="nightly", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": queue, "RoleArn": role},
        )  # fmt: skip
        world.settle()
        sns = world.client("sns")
        sns.subscribe(TopicArn=sns.create_topic(Name="news")["TopicArn"], Protocol="email", Endpoint="a@example.com")
        world.settle()
        self.mail_id: str = self.ask("GET", "/_redrive/mail")["mail"][0]["id"]
        self.fault_id: str = self.ask("POST", "/_redrive/faults", body=BODIES["/_redrive/faults"])["id"]
        (run,) = self.ask("GET", "/_redrive/runs", QUERIES["/_redrive/runs"])["runs"]
        self.run_id: str = run["execution_id"]

    def close(self) -> None:
        """Let go of everything."""
        self.world.close()
        self.file.close()
        self.folder.cleanup()

    def respond(self, method: str, path: str, query: str = "", body: bytes = b"") -> HttpResponse:
        """The answer to one request."""
        if path.startswith((BLOBS_PATH, ANSWERS_PATH)):
            expires_at = self.world.now + 1
            query = f"Expires={expires_at}&Signature={self.issuer.sign_path(path, expires_at)}"
        return self.admin.respond(HttpRequest(method, path, query, {}, body))

    def filled(self, path: str) -> str:
        """A path of the reference with the names of things that are there."""
        names = {
            "{bucket}": "b", "{key+}": "k/l", "{digest}": "known", "{token}": "~~~~x", "{tail}": self.tail,
            "{id}": self.fault_id if "faults" in path else self.mail_id if "mail" in path else self.run_id,
        }  # fmt: skip
        for label, name in names.items():
            path = path.replace(label, name)
        return path

    def ask(self, method: str, path: str, query: str = "", body: bytes = b"") -> Any:
        """The document that answers one request, which must succeed."""
        answered = self.respond(method, path, query, body)
        assert answered.status == 200, answered.body
        return json.loads(answered.body)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


def answer(method: str, path: str, body: bytes = b"", query: str = "") -> int:
    with closing(Desk()) as desk:
        return desk.respond(method, path, query, body).status


def test_every_path_of_the_reference_answers() -> None:
    document = yaml.safe_load((REFERENCE / "admin.openapi.yaml").read_text("utf-8"))
    calls = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]

    reads = [call for call in calls if call[0] == "GET"]
    answers = {}
    for group in (reads, *([call] for call in calls if call not in reads)):
        with closing(Desk()) as desk:
            for method, path in group:
                there = desk.filled(path)
                answers[method, path] = desk.respond(method, there, QUERIES.get(path, ""), BODIES.get(path, b"")).status

    assert answers == dict.fromkeys(calls, 200)
    page = (REFERENCE / "admin.md").read_text("utf-8")
    assert [call for call in calls if f"`{' '.join(call)}`" not in page] == []


def breaches(document: Any, schema: Any, value: Any, place: str = "") -> Iterator[str]:
    """Where a value is not what a schema of the OpenAPI document says."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema:
        if value is not None:
            yield from breaches(document, schema["oneOf"][0], value, place)
        return
    if not isinstance(value, TYPES[schema["type"]]) or value not in schema.get("enum", [value]):
        yield f"{place} is {value!r}, not {schema}"
    elif schema["type"] == "array":
        for item in value:
            yield from breaches(document, schema["items"], item, f"{place}[]")
    elif schema["type"] == "object" and "properties" in schema:
        yield from (f"{place} has no {name}" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            yield from breaches(document, schema["properties"][name], item, f"{place}.{name}")


def test_every_answer_is_what_the_openapi_document_says(desk: Desk) -> None:
    document = yaml.safe_load((REFERENCE / "admin.openapi.yaml").read_text("utf-8"))
    questions = [
        (path, item["get"]["responses"]["200"]["content"]["application/json"]["schema"])
        for path, item in document["paths"].items()
        if "application/json" in item.get("get", {"responses": {"200": {"content": {}}}})["responses"]["200"]["content"]
    ]

    found = []
    for path, schema in questions:
        answer = desk.ask("GET", desk.filled(path), QUERIES.get(path, ""))
        found += list(breaches(document, schema, answer, path))

    assert len(questions) >= 10
    assert found == []


def test_clock_does_not_run_backwards_or_half_asked() -> None:
    assert answer("POST", "/_redrive/clock", b'{"to": "1999-01-01T00:00:00Z"}') == 400
    assert answer("POST", "/_redrive/clock", b'{"advance_s": 5, "to": "2030-01-01T00:00:00Z"}') == 400
    assert answer("POST", "/_redrive/clock", b'{"advance_s": "a day"}') == 400
    assert answer("POST", "/_redrive/clock", b"{not json") == 400


def test_unknown_path_is_refused_with_what_there_is() -> None:
    assert answer("GET", "/_redrive/nothing") == 404


@pytest.mark.parametrize(
    "fault",
    [
        {"error": "Throttling", "times": 1},
        {"target": "*", "error": "Throttling"},
        {"target": "*", "error": "Throttling", "times": 1, "rate": 1},
        {"target": "*", "error": "Throttling", "times": 0},
        {"target": "*", "error": "Throttling", "times": True},
        {"target": "*", "error": "Throttling", "rate": 2},
        {"target": "*", "error": "Throttling", "rate": 0},
        {"target": "*", "times": 1},
        {"target": "*", "error": 5, "times": 1},
        {"target": "*", "error": "Throttling", "times": 1, "colour": "red"},
        ["target"],
    ],
)
def test_fault_that_is_half_described_is_refused_and_changes_nothing(fault: object, desk: Desk) -> None:
    answered = desk.respond("POST", "/_redrive/faults", body=json.dumps(fault).encode())

    assert answered.status == 400
    assert len(desk.ask("GET", "/_redrive/faults")["faults"]) == 1


def test_fault_is_listed_until_it_is_cleared(desk: Desk) -> None:
    (fault,) = desk.ask("GET", "/_redrive/faults")["faults"]

    assert {name: fault[name] for name in FAULT} == FAULT
    assert (fault["struck"], fault["state"]) == (0, "armed")
    assert desk.ask("DELETE", f"/_redrive/faults/{desk.fault_id}") == {"cleared": 1}
    assert desk.respond("DELETE", f"/_redrive/faults/{desk.fault_id}").status == 404
    assert desk.ask("GET", "/_redrive/faults") == {"faults": []}


def test_run_is_found_by_its_delivery_and_by_its_execution(desk: Desk) -> None:
    by_execution = desk.ask("GET", f"/_redrive/runs/{desk.run_id}")
    by_delivery = desk.ask("GET", f"/_redrive/runs/{quote(by_execution['id'], safe='')}")

    assert by_execution == by_delivery
    assert by_execution["scheduled_time"] == "2025-01-01T00:00:00Z"
    assert by_execution["state"] == "dropped"
    (attempt,) = by_execution["attempts"]
    assert (attempt["attempt"], attempt["error"]) == (1, "AccessDeniedException")
    assert desk.respond("GET", "/_redrive/runs/nothing").status == 404


def test_runs_come_in_pages_latest_first(desk: Desk) -> None:
    desk.world.advance(days=2)

    first = desk.ask("GET", "/_redrive/runs", f"source={SCHEDULE}&limit=2")
    second = desk.ask("GET", "/_redrive/runs", f"source={SCHEDULE}&limit=2&after={quote(first['after'])}")

    times = [run["scheduled_time"] for run in first["runs"] + second["runs"]]
    assert times == ["2025-01-03T00:00:00Z", "2025-01-02T00:00:00Z", "2025-01-01T00:00:00Z"]
    assert second["after"] is None


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("runs", "state=nowhere"),
        ("runs", f"source={SCHEDULE}&limit=0"),
        ("runs", f"source={SCHEDULE}&colour=red"),
        ("schedules/next", "schedule=nobody"),
        ("schedules/next", "schedule=arn:aws:nobody"),
        ("schedules/next", "schedule=nightly&region=eu-west-1"),
    ],
)
def test_question_about_nothing_known_is_refused(path: str, query: str, desk: Desk) -> None:
    assert desk.respond("GET", f"/_redrive/{path}", query).status == 400
