"""Faults on order: added, listed with how often they struck, cleared."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.services.redrive.conftest import Office

FAULT: dict[str, Any] = {"target": "arn:aws:sqs:*:*:orders", "error": "ThrottlingException", "times": 2}

TOLD: dict[str, Any] = {"target": "arn:aws:s3:::uploads/*", "rate": 0.5}


def test_fault_is_answered_and_listed_as_it_was_added(office: Office) -> None:
    added = office.call("AddFault", **FAULT, latency_s=1.5)

    assert added == {
        "id": added["id"], "target": FAULT["target"], "error": "ThrottlingException", "message": None, "times": 2,
        "rate": None, "latency_s": 1.5, "s3": None, "event": None, "struck": 0, "state": "armed",
    }  # fmt: skip
    assert office.call("ListFaults") == {"faults": [added]}


def test_fault_of_what_s3_tells_is_answered_and_cleared_like_others(office: Office) -> None:
    added = office.call("AddFault", **TOLD, s3="duplicate", event="s3:ObjectCreated:*", latency_s=5)

    assert added == {
        "id": added["id"], "target": TOLD["target"], "error": None, "message": None, "times": None, "rate": 0.5,
        "latency_s": 5, "s3": "duplicate", "event": "s3:ObjectCreated:*", "struck": 0, "state": "armed",
    }  # fmt: skip
    assert office.call("ListFaults") == {"faults": [added]}
    assert office.call("ClearFault", id=added["id"]) == {"cleared": 1}


def test_fault_that_has_struck_as_often_as_it_may_is_spent(office: Office) -> None:
    office.call("AddFault", **FAULT)
    office.schedule()

    office.world.advance(hours=1)

    (fault,) = office.call("ListFaults")["faults"]
    assert (fault["struck"], fault["state"]) == (2, "spent")


def test_faults_are_cleared_by_id_or_all_at_once(office: Office) -> None:
    ids = [office.call("AddFault", **FAULT)["id"] for _ in range(3)]

    assert office.call("ClearFault", id=ids[1]) == {"cleared": 1}
    assert [fault["id"] for fault in office.call("ListFaults")["faults"]] == [ids[0], ids[2]]
    assert office.refusal("ClearFault", id=ids[1]).code == "ResourceNotFoundException"
    assert office.call("ClearFaults") == {"cleared": 2}
    assert office.call("ClearFaults") == {"cleared": 0}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"error": "X", "times": 1}, "at 'target' failed to satisfy constraint: Member must not be null"),
        ({"target": "", "error": "X", "times": 1}, "at 'target' failed"),
        ({"target": "*", "error": "X"}, "neither or both of times and rate"),
        ({"target": "*", "error": "X", "times": 1, "rate": 1.0}, "neither or both of times and rate"),
        ({"target": "*", "error": "X", "times": 0}, "at 'times' failed"),
        ({"target": "*", "error": "X", "times": 1_000_000_001}, "at 'times' failed"),
        ({"target": "*", "error": "X", "rate": 1.5}, "at 'rate' failed"),
        ({"target": "*", "error": "X", "rate": float("nan")}, "at 'rate' failed"),
        ({"target": "*", "error": "X", "rate": 0.0}, "such a fault would never strike"),
        ({"target": "*", "times": 1, "latency_s": 86_401.0}, "at 'latency_s' failed"),
        ({"target": "*", "times": 1}, "nothing would happen"),
        ({"target": "*", "times": 1, "s3": "delay"}, "nothing would happen"),
        ({"target": "*", "times": 1, "s3": "lost"}, "at 's3' failed"),
        ({"target": "*", "times": 1, "s3": "duplicate", "error": "X"}, "but never fails"),
        ({"target": "arn:aws:sqs:*:*:q", "times": 1, "s3": "duplicate"}, "names no objects of S3"),
        ({**TOLD, "s3": "duplicate", "event": "ObjectMoved"}, "S3 has no event ObjectMoved"),
        ({**TOLD, "error": "X", "event": "ObjectCreated:*"}, "has an event, but it strikes calls"),
    ],
)
def test_fault_that_is_half_described_is_refused_and_none_is_added(fault: Any, said: str, office: Office) -> None:
    refused = office.refusal("AddFault", **fault)

    assert refused.code == "ValidationException"
    assert said in refused.message
    assert office.call("ListFaults") == {"faults": []}
