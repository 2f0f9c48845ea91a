"""Bus logs: the records of a bus's steps, in the log group that a delivery of vended logs names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.services.events import limits

ACCOUNT = "000000000000"
GROUP = "/aws/vendedlogs/events/event-bus/orders"
BUS = f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/orders"
FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


def log_bus(
    desk: Any, level: str, *, detail: str = "NONE", types: tuple[str, ...] = ("ERROR", "INFO", "TRACE")
) -> None:
    """Make the bus `orders`, and let its logs go to a group."""
    desk.events.create_event_bus(Name="orders", LogConfig={"Level": level, "IncludeDetail": detail})
    deliver_logs(desk, types)


def deliver_logs(desk: Any, types: tuple[str, ...]) -> None:
    logs = desk.world.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    arn = f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:{GROUP}"
    destination = logs.put_delivery_destination(
        name="d", deliveryDestinationConfiguration={"destinationResourceArn": arn}
    )["deliveryDestination"]
    for one in types:
        logs.put_delivery_source(name=one, resourceArn=BUS, logType=f"{one}_LOGS")
        logs.create_delivery(deliverySourceName=one, deliveryDestinationArn=destination["arn"])


def records(desk: Any) -> list[dict[str, Any]]:
    """All records that were written, in order."""
    logs = desk.world.client("logs")
    found = logs.filter_log_events(logGroupName=GROUP)["events"]
    assert {event["logStreamName"] for event in found} <= {"EventBridgeEventBusLogs"}
    return [json.loads(event["message"]) for event in found]


def steps(desk: Any) -> list[str]:
    return [record["message_type"] for record in records(desk)]


def put(desk: Any, **more: Any) -> str:
    return str(desk.put({"n": 1}, EventBusName="orders", **more))


def test_steps_of_a_delivery_are_recorded(bus_desk: Any) -> None:
    log_bus(bus_desk, "TRACE")
    rule = bus_desk.rule(bus_desk.queue("q"), bus="orders")

    event_id = put(bus_desk)

    found = records(bus_desk)
    assert sorted(record["message_type"] for record in found) == sorted([
        "EVENT_INGEST_SUCCESS", "EVENT_RECEIPT", "RULE_MATCH_START", "RULE_MATCH", "INVOCATION_START",
        "INVOCATION_ATTEMPT_START", "INVOCATION_ATTEMPT_SUCCESS", "INVOCATION_SUCCESS",
    ])  # fmt: skip
    assert {record["event_id"] for record in found} == {event_id}
    assert {record["resource_arn"] for record in found} == {BUS}
    (matched,) = [record for record in found if record["message_type"] == "RULE_MATCH"]
    assert matched["details"]["rule_arn"] == rule
    assert {record["invocation_id"] for record in found if record["message_type"].startswith("INVOCATION")} == {
        *matched["details"]["invocation_ids"]
    }
    assert all("target_input" not in record["details"] for record in found)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("OFF", []),
        ("ERROR", []),
        ("INFO", ["EVENT_INGEST_SUCCESS", "EVENT_RECEIPT", "RULE_MATCH", "INVOCATION_SUCCESS"]),
    ],
)
def test_level_decides_which_steps_are_recorded(level: str, expected: list[str], bus_desk: Any) -> None:
    log_bus(bus_desk, level)
    bus_desk.rule(bus_desk.queue("q"), bus="orders")

    put(bus_desk)

    assert steps(bus_desk) == expected


def test_record_of_a_level_goes_where_its_own_type_of_log_goes(bus_desk: Any) -> None:
    log_bus(bus_desk, "TRACE", types=("INFO",))

    put(bus_desk)

    assert steps(bus_desk) == ["EVENT_INGEST_SUCCESS", "EVENT_RECEIPT", "NO_STANDARD_RULES_MATCHED"]


def test_full_detail_shows_the_event_and_the_input(bus_desk: Any) -> None:
    log_bus(bus_desk, "TRACE", detail="FULL")
    bus_desk.rule({"Arn": bus_desk.queue("q"), "Input": '{"a": 1}'}, bus="orders")

    put(bus_desk)

    by_type = {record["message_type"]: record for record in records(bus_desk)}
    assert json.loads(by_type["EVENT_INGEST_SUCCESS"]["details"]["event_detail"]) == {"n": 1}
    assert by_type["INVOCATION_START"]["details"]["target_input"] == '{"a": 1}'


def test_failures_and_dead_letters_are_errors(bus_desk: Any) -> None:
    log_bus(bus_desk, "ERROR")
    target = {"Arn": bus_desk.queue("q", principal={"Service": "sns.amazonaws.com"})}
    bus_desk.rule({**target, "DeadLetterConfig": {"Arn": bus_desk.queue("dead")}}, bus="orders")

    put(bus_desk)
    put(bus_desk, Source="aws.mine")

    found = records(bus_desk)
    assert [record["message_type"] for record in found] == [
        "INVOCATION_ATTEMPT_PERMANENT_FAILURE", "INVOCATION_FAILURE", "INVOCATION_DLQ", "EVENT_INGEST_FAILURE",
    ]  # fmt: skip
    assert found[1]["error"]["aws_service"] == "sqs"
    assert found[1]["details"]["total_attempts"] == 1
    assert found[3]["error"]["error_message"] == "Not authorized for the source."


def test_bus_that_gets_its_log_later_writes_from_then_on(bus_desk: Any) -> None:
    bus_desk.events.create_event_bus(Name="orders")
    deliver_logs(bus_desk, ("INFO",))

    put(bus_desk)
    bus_desk.events.update_event_bus(Name="orders", LogConfig={"Level": "INFO"})
    last = put(bus_desk)

    assert {record["event_id"] for record in records(bus_desk)} == {last}


def test_group_that_is_gone_stops_no_event(bus_desk: Any) -> None:
    log_bus(bus_desk, "TRACE")
    bus_desk.rule(bus_desk.queue("q"), bus="orders")
    bus_desk.world.client("logs").delete_log_group(logGroupName=GROUP)

    put(bus_desk)

    assert len(bus_desk.received()) == 1


def test_group_whose_policy_is_gone_gets_no_record(bus_desk: Any) -> None:
    log_bus(bus_desk, "TRACE")
    logs = bus_desk.world.client("logs")
    (policy,) = logs.describe_resource_policies()["resourcePolicies"]
    logs.delete_resource_policy(policyName=policy["policyName"])

    put(bus_desk)

    assert records(bus_desk) == []


def test_record_that_is_too_long_names_what_it_drops(bus_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redrive.services.events.model.bus_log.LOG_RECORD_BYTES_MAX", 2_000)
    log_bus(bus_desk, "INFO", detail="FULL")

    bus_desk.put({"text": "x" * 3_000}, EventBusName="orders")

    first = records(bus_desk)[0]
    assert first["dropped_fields"] == ["event_detail"]
    assert first["details"]["source"] == "shop"
    assert limits.LOG_RECORD_BYTES_MAX > 2_000


def test_bus_without_a_log_costs_no_statement(bus_desk: Any) -> None:
    def statements() -> int:
        found: list[str] = []
        bus_desk.world.store.connection.set_trace_callback(found.append)
        put(bus_desk)
        bus_desk.world.store.connection.set_trace_callback(None)
        return len([text for text in found if not text.startswith(FRAME)])

    bus_desk.events.create_event_bus(Name="orders")
    bus_desk.rule(bus_desk.queue("q"), bus="orders")
    put(bus_desk)
    without = statements()
    deliver_logs(bus_desk, ("INFO",))
    put(bus_desk)
    with_delivery = statements()
    bus_desk.events.update_event_bus(Name="orders", LogConfig={"Level": "INFO"})
    put(bus_desk)

    assert without == with_delivery < statements()


def test_scheduled_rule_tells_of_its_firing(bus_desk: Any) -> None:
    bus_desk.events.update_event_bus(Name="default", LogConfig={"Level": "INFO"})
    logs = bus_desk.world.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    arn = f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:{GROUP}"
    logs.put_delivery_destination(name="d", deliveryDestinationConfiguration={"destinationResourceArn": arn})
    logs.put_delivery_source(name="s", resourceArn=BUS.replace("orders", "default"), logType="INFO_LOGS")
    logs.create_delivery(
        deliverySourceName="s", deliveryDestinationArn=f"arn:aws:logs:us-east-1:{ACCOUNT}:delivery-destination:d"
    )
    bus_desk.rule(bus_desk.queue("q"), ScheduleExpression="rate(1 minute)")

    bus_desk.world.advance(minutes=1)

    assert steps(bus_desk) == ["EVENT_RECEIPT", "RULE_MATCH", "INVOCATION_SUCCESS"]
