"""What a server is asked to do after a transaction: its clock, its store, its state as a whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from redrive.core.clock import parse_instant
from redrive.core.errors import ServiceError
from redrive.core.retry import Backoff, RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.node import StoppedError
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import OUTSIDE, Delivery
from tests.unit.services.redrive.conftest import Office

START = parse_instant("2025-01-01T00:00:00Z")
CLOCK = {"clock": "virtual", "now": "2025-01-01T00:00:00Z", "now_ms": START}
BACKUP = {"id": 1, "copied": 2, "pages": 2, "bytes": 3}


class Recorder:
    """A node that keeps what it is asked."""

    def __init__(self, *, stops: bool = False) -> None:
        self.asked: list[object] = []
        self._stops = stops

    def health(self) -> dict[str, Any]:
        return {"status": "ok"}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"url": "http://127.0.0.1:4566"}]

    def clock(self) -> dict[str, Any]:
        return CLOCK

    def advance_to(self, target: int, is_wanted: Callable[[], bool]) -> None:
        self.asked.append(("advance", target, is_wanted()))
        if self._stops:
            raise StoppedError(START)

    def stop_clock(self) -> None:
        self.asked.append("stop")

    def reset(self) -> None:
        self.asked.append("reset")

    def report_on_store(self) -> dict[str, Any]:
        return {"ok": True}

    def create_backup(self) -> dict[str, Any]:
        self.asked.append("backup")
        return BACKUP

    def backup(self) -> dict[str, Any]:
        return BACKUP

    def backup_content(self, id: int, offset: int) -> bytes | None:
        return b"abc"[offset:] if id == 1 else None

    def delete_backup(self) -> None:
        self.asked.append("delete")


def put_promise(id: str, ago_ms: int, tx: Transaction) -> None:
    """Store a delivery that has been due for so long."""
    policy = RetryPolicy(retries_max=3, backoff=Backoff(steps_ms=(60_000,)))
    due_at = tx.now - ago_ms
    tx.deliveries.put(Delivery(id, Scope("0", "r"), "test", "arn:s", "arn:t", {}, policy, OUTSIDE, due_at, due_at))


def done(office: Office, node: Recorder, name: str, *, wanted: bool = True, **params: object) -> dict[str, Any]:
    return office.begun(name, **params).perform(node, lambda: wanted)


def test_health_tells_of_the_server_and_of_its_clock(office: Office) -> None:
    assert done(office, Recorder(), "GetHealth") == {"status": "ok"} | CLOCK


def test_nodes_are_listed_with_the_work_that_is_due_and_under_way(office: Office) -> None:
    for name, ago_ms in (("1", 3_000), ("2", 2_000), ("3", 1_000)):
        office.world.store.run(partial(put_promise, name, ago_ms))
    office.world.store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=60_000, limit=1))

    answer = done(office, Recorder(), "ListNodes")

    assert answer == {"nodes": [{"url": "http://127.0.0.1:4566"}], "due": 2, "leased": 1, "lag_ms": 2_000}


@pytest.mark.parametrize(
    ("params", "target"),
    [
        ({"advance_s": 90.5}, START + 90_500),
        ({"advance_s": 0}, START),
        ({"to": "2025-01-02T00:00:00Z"}, START + 86_400_000),
    ],
)
def test_clock_is_moved_by_seconds_or_to_a_time(params: dict[str, Any], target: int, office: Office) -> None:
    node = Recorder()

    answer = done(office, node, "AdvanceClock", wanted=False, **params)

    assert (node.asked, answer) == ([("advance", target, False)], CLOCK)


def test_clock_that_was_stopped_on_its_way_is_a_conflict_that_says_where_it_stands(office: Office) -> None:
    with pytest.raises(ServiceError, match="stopped at 2025-01-01T00:00:00Z, before 2025-01-01T00:01:00Z") as caught:
        done(office, Recorder(stops=True), "AdvanceClock", advance_s=60)

    assert caught.value.code == "ConflictException"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"advance_s": 5, "to": "2030-01-01T00:00:00Z"},
        {"to": "soon"},
        {"to": "99999-01-01T00:00:00Z"},
        {"advance_s": -1},
        {"advance_s": float("inf")},
        {"advance_s": float("nan")},
    ],
)
def test_clock_is_not_moved_half_asked_or_for_ever(params: dict[str, object], office: Office) -> None:
    with pytest.raises(ServiceError) as caught:
        office.begun("AdvanceClock", **params)

    assert caught.value.code == "ValidationException"


def test_clock_is_stopped_and_state_reset_by_the_node(office: Office) -> None:
    node = Recorder()

    assert done(office, node, "GetClock") == CLOCK
    assert done(office, node, "StopClock") == CLOCK
    assert done(office, node, "Reset") == {"status": "ok"} | CLOCK
    assert node.asked == ["stop", "reset"]


def test_store_is_read_and_copied_by_the_node(office: Office) -> None:
    node = Recorder()

    assert done(office, node, "GetStoreReport") == {"ok": True}
    assert done(office, node, "CreateBackup") == done(office, node, "GetBackup") == BACKUP
    assert done(office, node, "GetBackupContent", id=1) == {"content": b"abc"}
    assert done(office, node, "GetBackupContent", id=1, offset=2) == {"content": b"c"}
    assert done(office, node, "DeleteBackup") == {"status": "ok"}
    assert node.asked == ["backup", "delete"]


def test_piece_of_a_backup_that_is_not_there_is_missing(office: Office) -> None:
    with pytest.raises(ServiceError) as caught:
        done(office, Recorder(), "GetBackupContent", id=2)

    assert caught.value.code == "ResourceNotFoundException"


def test_code_is_answered_by_its_digest(office: Office) -> None:
    office.world.store.run(lambda tx: tx.blobs.put("known", b"zip"))

    assert office.call("GetCode", digest="known") == {"content_type": "application/zip", "content": b"zip"}
    assert office.refusal("GetCode", digest="x").code == "ResourceNotFoundException"
