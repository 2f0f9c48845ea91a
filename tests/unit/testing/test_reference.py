"""The reference of the server's own surface names what there is, and nothing else."""

from __future__ import annotations

import hashlib
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
from redrive.core.entropy import SystemEntropy
from redrive.core.log import SilentLog
from redrive.engine.driver import VirtualDrive
from redrive.gateway.admin import Admin, Facts
from redrive.gateway.admin_store import StoreAdmin
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse

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
ASSET = b"an archive"
ASSET_DIGEST = hashlib.sha256(ASSET).hexdigest()
BODIES = {
    "/_redrive/assets/{id}": ASSET,
    "/_redrive/clock": b'{"advance_s": 60}',
    "/_redrive/faults": json.dumps(FAULT).encode(),
    "/_redrive/schedules/trigger": b'{"schedule": "nightly"}',
}


class Desk:
    """A server's own surface over a world with a schedule that has fired, and a fault."""

    def __init__(self) -> None:
        world = self.world = World()
        assert isinstance(world.clock, VirtualClock)
        drive = VirtualDrive(world.engine, world.clock, SilentLog(), keep=lambda tx, at: None)
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        self.file = SqliteStore(place / "redrive.sqlite", clock=world.clock, entropy=SystemEntropy())
        self.admin = Admin(
            Facts("000000000000", "memory"), world.clock, drive, run=world.store.run, reset=world.store.reset,
            load_blob={"known": b"zip"}.get, store=StoreAdmin(place / "redrive.sqlite", place / "backup"),
        )  # fmt: skip
        self.ask("POST", "/_redrive/store/backup")
        role = world.client("iam").create_role(RoleName="runs", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
        queue = "arn:aws:sqs:us-east-1:000000000000:gone"
        world.client("scheduler").create_schedule(
            Name="nightly", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": queue, "RoleArn": role},
        )  # fmt: skip
        world.settle()
        self.ask("POST", f"/_redrive/assets/{ASSET_DIGEST}", body=ASSET)
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
        return self.admin.respond(HttpRequest(method, path, query, {}, body))

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

    answers = {}
    for method, path in calls:
        with closing(Desk()) as desk:
            ids = {"assets": ASSET_DIGEST, "faults": desk.fault_id}
            there = path.format(digest="known", id=ids.get(path.split("/")[2], desk.run_id))
            answers[method, path] = desk.respond(method, there, QUERIES.get(path, ""), BODIES.get(path, b"")).status

    assert answers == dict.fromkeys(calls, 200)
    page = (REFERENCE / "admin.md").read_text("utf-8")
    assert [call for call in calls if f"`{' '.join(call)}`" not in _named(page)] == []


def _named(page: str) -> str:
    """The page with its placeholders as those of the other document."""
    return page.replace("assets/DIGEST", "assets/{id}").replace("DIGEST", "{digest}").replace("/ID`", "/{id}`")


def test_every_route_is_in_the_reference(desk: Desk) -> None:
    document = yaml.safe_load((REFERENCE / "admin.openapi.yaml").read_text("utf-8"))
    known = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}

    assert set(desk.admin.routes) - known == set()


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


def test_asset_that_comes_in_pieces_is_kept_when_the_last_one_is_there(desk: Desk) -> None:
    digest = hashlib.sha256(b"onetwo").hexdigest()
    path = f"/_redrive/assets/{digest}"

    first = desk.ask("POST", path, "piece=1&pieces=2", b"one")
    before = desk.respond("GET", path).status
    second = desk.ask("POST", path, "piece=2&pieces=2", b"two")

    assert (first, before) == ({"digest": digest, "pieces": 1}, 404)
    assert second == {"digest": digest, "size_bytes": 6} == desk.ask("GET", path)


@pytest.mark.parametrize(("query", "body"), [("", b"another"), ("piece=2&pieces=2", ASSET), ("pieces=65", ASSET)])
def test_asset_of_another_digest_or_out_of_order_is_refused(desk: Desk, query: str, body: bytes) -> None:
    refused = desk.respond("POST", f"/_redrive/assets/{ASSET_DIGEST}", query, body)

    assert refused.status == 400
