"""Who may use our own surface: the account itself, and others by a policy that names the operation."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.wire.model.files import Models
from redrive.wire.services import OWN_SERVICE
from tests.unit.services.redrive.conftest import OTHER, Office

MODEL = Models().service(OWN_SERVICE.name)
OPEN = {"GetHealth"}
PARAMS: dict[str, dict[str, Any]] = {
    "AddFault": {"target": "*", "error": "X", "times": 1},
    "AdvanceClock": {"advance_s": 1},
    "ClearFault": {"id": "x"},
    "EndTail": {"tail": "x"},
    "GetAsset": {"bucket": "b", "key": "k"},
    "GetBackupContent": {"id": 1},
    "GetCode": {"digest": "x"},
    "GetMail": {"id": "x"},
    "GetOccurrences": {"schedule": "nightly"},
    "GetRun": {"id": "x"},
    "GetTail": {"tail": "x"},
    "PutAnswer": {"token": "x"},
    "PutAsset": {"bucket": "b", "key": "k"},
    "RecordRedrives": {
        "plan": "p",
        "queue": "q",
        "to": "t",
        "letters": [{"message_id": "m-1", "sent_as": "m-2"}],
    },
    "TriggerSchedule": {"schedule": "nightly"},
}


@pytest.mark.parametrize("name", sorted(MODEL.operations.keys() - OPEN))
def test_role_may_do_an_operation_only_if_a_policy_allows_it_by_its_name(name: str, office: Office) -> None:
    others = [f"redrive:{other}" for other in MODEL.operations if other != name]

    refused = office.refusal(name, office.role("all-others", *others), **PARAMS.get(name, {}))
    allowed = office.role("this", f"redrive:{name}")

    assert refused.code == "AccessDeniedException"
    assert f"is not authorized to perform: redrive:{name} on resource: *" in refused.message
    assert "AccessDenied" not in said(office, name, allowed)
    assert "AccessDenied" not in said(office, name, office.root)


def said(office: Office, name: str, caller: Any) -> str:
    """The code of the error that an operation answers; empty if it answers none."""
    try:
        office.call(name, caller, **PARAMS.get(name, {}))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told.
        return str(error)
    return ""


def test_health_is_told_to_a_role_that_may_do_nothing(office: Office) -> None:
    assert office.refusal("GetHealth", office.role("nothing")).code == "ValidationException"


def test_role_asks_about_its_own_account_alone(office: Office) -> None:
    arn = office.schedule()
    office.world.advance(days=1)
    stranger = office.role("stranger", "redrive:*", account=OTHER)
    (run, *_) = office.call("ListRuns", source=arn)["runs"]

    assert office.call("ListRuns", stranger)["runs"] == []
    assert office.call("ListRuns", stranger, source=arn)["runs"] == []
    assert office.refusal("ListRuns", stranger, account="000000000000").code == "AccessDeniedException"
    assert office.refusal("GetOccurrences", stranger, schedule=arn).code == "AccessDeniedException"
    assert office.refusal("GetRun", stranger, id=run["id"]).code == "ResourceNotFoundException"


@pytest.mark.parametrize("name", ["AdvanceClock", "Reset", "GetHealth", "CreateBackup"])
def test_what_is_about_the_server_as_a_whole_is_refused_within_a_transaction(name: str, office: Office) -> None:
    refused = office.refusal(name, **PARAMS.get(name, {}))

    assert refused.code == "ValidationException"
    assert f"{name} is about the server as a whole" in refused.message


def test_delivery_by_a_schedule_calls_our_surface_under_its_role_and_is_refused_without_a_policy(
    office: Office,
) -> None:
    office.call("AddFault", target="arn:aws:sqs:*:*:other", error="X", times=1)
    scheduler = office.world.client("scheduler")
    for number, actions in enumerate(([], ["redrive:ClearFaults"])):
        role = office.role(f"clears{number}", *actions).role_arn
        scheduler.create_schedule(
            Name=f"clear{number}", ScheduleExpression=f"at(2025-01-0{number + 2}T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": "arn:aws:scheduler:::aws-sdk:redrive:clearFaults", "RoleArn": role, "Input": "{}"},
        )  # fmt: skip

    office.world.advance(days=1)
    after_the_first = len(office.call("ListFaults")["faults"])
    office.world.advance(days=1)

    assert (after_the_first, office.call("ListFaults")["faults"]) == (1, [])
