"""PutEvents: what is accepted, entry by entry, and the envelope that AWS writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.errors import ServiceError

GOOD = {"Source": "shop", "DetailType": "Order", "Detail": "{}"}


def results(desk: Any, *entries: dict[str, Any]) -> list[tuple[str | None, str | None]]:
    answer = desk.events.put_events(Entries=list(entries))
    assert answer["FailedEntryCount"] == sum("ErrorCode" in one for one in answer["Entries"])
    return [(one.get("ErrorCode"), one.get("ErrorMessage")) for one in answer["Entries"]]


def test_envelope_is_written_as_aws_writes_it(bus_desk: Any) -> None:
    """Byte for byte: the order of keys, whole seconds, no blanks, text that is not escaped.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
    """
    bus_desk.rule(bus_desk.queue("q"))

    event_id = bus_desk.put({"name": "Zoë", "n": [1, 2.5]}, Time="2024-12-31T23:59:59.9Z", Resources=["a", "b"])

    text = (
        f'{{"version":"0","id":"{event_id}","detail-type":"Order","source":"shop","account":"000000000000",'
        '"time":"2024-12-31T23:59:59Z","region":"us-east-1","resources":["a","b"],'
        '"detail":{"name":"Zoë","n":[1,2.5]}}'
    )
    assert bus_desk.bodies() == [text]


def test_event_without_time_and_resources_has_the_time_of_the_call(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))

    bus_desk.put()

    (event,) = bus_desk.received()
    assert (event["time"], event["resources"]) == ("2025-01-01T00:00:00Z", [])


@pytest.mark.parametrize("name", ["Source", "DetailType", "Detail"])
def test_missing_member_fails_its_entry_alone(name: str, bus_desk: Any) -> None:
    without = {key: value for key, value in GOOD.items() if key != name}

    assert results(bus_desk, without, GOOD) == [
        ("InvalidArgument", f"Parameter {name} is not valid. Reason: {name} is a required argument."), (None, None),
    ]  # fmt: skip


@pytest.mark.parametrize("detail", ["[]", '"text"', "1", "null", "{", "", '{"a": NaN}', '"{}"'])
def test_detail_must_be_a_json_object(detail: str, bus_desk: Any) -> None:
    (found,) = results(bus_desk, {**GOOD, "Detail": detail})

    assert found[0] in ("MalformedDetail", "InvalidArgument")
    assert detail == "" or found == ("MalformedDetail", "Detail is malformed.")


def test_sources_of_aws_are_refused(bus_desk: Any) -> None:
    assert results(bus_desk, {**GOOD, "Source": "aws.s3"}, {**GOOD, "Source": "awsome"}) == [
        ("NotAuthorizedForSourceException", "Not authorized for the source."), (None, None),
    ]  # fmt: skip


def test_event_for_a_missing_bus_is_accepted_and_vanishes(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))

    event_id = bus_desk.put(EventBusName="gone")

    assert len(event_id) == 36
    assert bus_desk.bodies() == []


def test_eleven_entries_are_refused_with_all_of_them_in_the_message(bus_desk: Any, refusal: Any) -> None:
    code, message = refusal(bus_desk.events.put_events, Entries=[GOOD] * 11)

    assert code == "ValidationException"
    assert message.startswith("1 validation error detected: Value '[PutEventsRequestEntry(time=null, source=shop, ")
    assert message.endswith("at 'entries' failed to satisfy constraint: Member must have length less than or equal to 10")  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(("detail_bytes", "is_over"), [(1_048_557, False), (1_048_558, True)])
def test_entries_together_are_smaller_than_a_mebibyte(
    detail_bytes: int, is_over: bool, bus_desk: Any, refusal: Any
) -> None:
    """Beside the details count here: Source 1, DetailType 1, a resource of 2 bytes in UTF-8, and 14 for the Time: 18.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
    """
    half = detail_bytes // 2
    first = {"Source": "s", "DetailType": "d", "Detail": '{"a":"' + "x" * (half - 8) + '"}'}
    second = {
        "Source": "", "Detail": "y" * (detail_bytes - half), "Resources": ["é"], "Time": "2025-01-01T00:00:00Z",
    }  # fmt: skip

    def put() -> Any:
        return bus_desk.events.put_events(Entries=[first, second])

    if is_over:
        assert refusal(put) == ("ValidationException", "Total size of the entries in the request is over the limit.")
    else:
        assert put()["FailedEntryCount"] == 1


def test_endpoints_are_refused_by_name(bus_desk: Any) -> None:
    with pytest.raises(ServiceError) as caught:
        bus_desk.world.call("events", "PutEvents", Entries=[GOOD], EndpointId="abc.def")

    assert caught.value.code == "OperationDisabledException"
    assert "global endpoints (EndpointId)" in caught.value.message


def test_event_reaches_a_bus_by_name_and_by_arn(bus_desk: Any) -> None:
    arn = bus_desk.events.create_event_bus(Name="orders")["EventBusArn"]
    bus_desk.rule(bus_desk.queue("q"), bus="orders")

    bus_desk.put({"by": "name"}, EventBusName="orders")
    bus_desk.put({"by": "arn"}, EventBusName=arn)
    bus_desk.put({"by": "default"})

    assert [event["detail"]["by"] for event in bus_desk.received()] == ["name", "arn"]


def test_calls_and_entries_are_counted(bus_desk: Any) -> None:
    results(bus_desk, GOOD, {**GOOD, "Detail": "["})
    bus_desk.world.advance(minutes=2)

    assert bus_desk.counted("PutEventsEntriesCount") == 2
    assert bus_desk.counted("PutEventsFailedEntriesCount") == 1
    assert bus_desk.counted("PutEventsApproximateSuccessCount") == 1
    assert bus_desk.counted("PutEventsRequestSize") == 2 * len("shopOrder") + 3


def test_user_without_permission_puts_nothing(bus_desk: Any, refusal: Any) -> None:
    """The whole call is refused, as for other actions. The source of an event can be a condition."""
    world = bus_desk.world
    statement = {
        "Effect": "Allow", "Action": "events:PutEvents", "Resource": "*",
        "Condition": {"StringEquals": {"events:source": "shop"}},
    }  # fmt: skip
    world.call("iam", "CreateUser", UserName="u")
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.call("iam", "PutUserPolicy", UserName="u", PolicyName="p", PolicyDocument=policy)
    key = world.call("iam", "CreateAccessKey", UserName="u")["AccessKey"]
    theirs = world.client("events", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])

    accepted = theirs.put_events(Entries=[GOOD])
    code, _ = refusal(theirs.put_events, Entries=[{**GOOD, "Source": "other"}])

    assert accepted["FailedEntryCount"] == 0
    assert code == "AccessDeniedException"
