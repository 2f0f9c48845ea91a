"""Archives: what a bus accepts is kept, by pattern and for the retention."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

BUS_ARN = "arn:aws:events:us-east-1:000000000000:event-bus/default"
PATTERN = '{"source":["shop"]}'


@pytest.fixture
def world() -> World:
    return World(region="us-east-1")


@pytest.fixture
def events(world: World) -> Any:
    return world.client("events")


def put(events: Any, number: int = 1, *, source: str = "shop", **entry: object) -> None:
    entries = [{"Source": source, "DetailType": "order", "Detail": f'{{"n":{n}}}', **entry} for n in range(number)]
    assert events.put_events(Entries=entries)["FailedEntryCount"] == 0


def refused(call: Any, **params: object) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        call(**params)
    return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


def held(events: Any, name: str = "all") -> int:
    return int(events.describe_archive(ArchiveName=name)["EventCount"])


def test_archive_is_enabled_at_once_and_named_by_its_arn(events: Any) -> None:
    created = events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN, Description="d", RetentionDays=3)

    assert created["ArchiveArn"] == "arn:aws:events:us-east-1:000000000000:archive/all"
    assert created["State"] == "ENABLED"
    shown = events.describe_archive(ArchiveName="all")
    assert (shown["EventSourceArn"], shown["Description"], shown["RetentionDays"]) == (BUS_ARN, "d", 3)
    assert (shown["EventCount"], shown["SizeBytes"]) == (0, 0)
    assert "EventPattern" not in shown


def test_archive_keeps_each_accepted_event_with_its_size(events: Any, world: World) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)

    put(events, 3)

    shown = events.describe_archive(ArchiveName="all")
    assert shown["EventCount"] == 3
    (size,) = world.store.connection.execute("SELECT sum(length(event)) FROM archived_events").fetchone()
    assert shown["SizeBytes"] == size > 3 * 100


def test_archive_with_a_pattern_keeps_matching_events_alone(events: Any) -> None:
    events.create_archive(ArchiveName="shop", EventSourceArn=BUS_ARN, EventPattern=PATTERN)

    put(events, 2)
    put(events, 5, source="bank")

    assert held(events, "shop") == 2


def test_archive_keeps_nothing_of_other_buses_and_accounts(events: Any, world: World) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)
    events.create_event_bus(Name="own")

    put(events, EventBusName="own")
    put(world.client("events", account="111111111111"))
    put(world.client("events", region="eu-west-1"))

    assert held(events) == 0


def test_refused_entry_is_not_archived(events: Any) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)

    events.put_events(Entries=[{"Source": "shop", "DetailType": "order", "Detail": "[]"}])

    assert held(events) == 0


def test_changed_pattern_holds_for_later_events(events: Any) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)
    put(events)

    events.update_archive(ArchiveName="all", EventPattern='{"source":["bank"]}')
    put(events)

    shown = events.describe_archive(ArchiveName="all")
    assert (shown["EventCount"], shown["EventPattern"]) == (1, '{"source":["bank"]}')


def test_events_expire_with_the_retention_and_counts_follow(events: Any, world: World) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN, RetentionDays=2)
    events.create_archive(ArchiveName="ever", EventSourceArn=BUS_ARN)
    put(events, 2)
    world.advance(days=1)
    put(events, 3)

    world.advance(days=1, hours=2)

    assert (held(events), held(events, "ever")) == (3, 5)
    (minutes,) = world.store.connection.execute("SELECT count(*) FROM archive_minutes WHERE events = 0").fetchone()
    assert minutes == 0


def test_events_of_long_ago_are_kept_as_long_as_others(events: Any, world: World) -> None:
    """The retention counts from the archiving, not from the event's own time."""
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN, RetentionDays=2)

    put(events, Time=datetime(2020, 1, 1, tzinfo=UTC))
    world.advance(days=1)

    assert held(events) == 1


def test_shorter_retention_deletes_what_is_too_old_for_it(events: Any, world: World) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)
    put(events)
    world.advance(days=5)

    events.update_archive(ArchiveName="all", RetentionDays=1)
    world.advance(hours=2)

    assert held(events) == 0


def test_deleted_archive_leaves_no_events(events: Any, world: World) -> None:
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)
    put(events, 4)

    events.delete_archive(ArchiveName="all")
    events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)

    assert held(events) == 0
    for table in ("archived_events", "archive_minutes"):
        assert world.store.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_archives_are_listed_by_name_in_pages(events: Any) -> None:
    events.create_event_bus(Name="own")
    own_arn = BUS_ARN.replace("default", "own")
    for name, arn in (("a1", BUS_ARN), ("a2", own_arn), ("b1", BUS_ARN)):
        events.create_archive(ArchiveName=name, EventSourceArn=arn)

    def names(**params: object) -> list[str]:
        return [archive["ArchiveName"] for archive in events.list_archives(**params)["Archives"]]

    first = events.list_archives(Limit=2)
    assert [archive["ArchiveName"] for archive in first["Archives"]] == ["a1", "a2"]
    assert names(Limit=2, NextToken=first["NextToken"]) == ["b1"]
    assert names(NamePrefix="a") == ["a1", "a2"]
    assert names(EventSourceArn=own_arn) == ["a2"]
    assert names(State="DISABLED") == []


def test_refusals_have_the_recorded_codes_and_sentences(events: Any) -> None:
    create = {"ArchiveName": "all", "EventSourceArn": BUS_ARN}
    events.create_archive(**create)

    assert refused(events.create_archive, **create) == (
        "ResourceAlreadyExistsException", "Archive all already exists.",
    )  # fmt: skip
    for call in (events.describe_archive, events.delete_archive):
        assert refused(call, ArchiveName="no") == ("ResourceNotFoundException", "Archive no does not exist.")
    assert refused(events.update_archive, ArchiveName="no") == (
        "ValidationException", "At least one of EventPattern, RetentionDays or Description must be provided.",
    )  # fmt: skip
    assert refused(events.create_archive, ArchiveName="b", EventSourceArn=BUS_ARN.replace("default", "no")) == (
        "ResourceNotFoundException", "Event bus no does not exist.",
    )  # fmt: skip
    code, _ = refused(events.create_archive, ArchiveName="b", EventSourceArn=BUS_ARN, EventPattern='{"source":"x"}')
    assert code == "InvalidEventPatternException"
    code, _ = refused(events.list_archives, NamePrefix="a", State="ENABLED")
    assert code == "ValidationException"


def test_archive_has_a_managed_rule_that_nobody_changes(bus_desk: Any, refusal: Any) -> None:
    events = bus_desk.events
    bus = events.describe_event_bus()["Arn"]
    archive = events.create_archive(ArchiveName="a", EventSourceArn=bus, EventPattern='{"source": ["shop"]}')
    events.put_rule(Name="Z", EventPattern='{"source": ["shop"]}')
    events.put_rule(Name="A", EventPattern='{"source": ["shop"]}')

    shown = events.describe_rule(Name="Events-Archive-a")

    assert shown["ManagedBy"] == "prod.vhs.events.aws.internal"
    assert json.loads(shown["EventPattern"]) == {"source": ["shop"], "replay-name": [{"exists": False}]}
    first = events.list_rules(Limit=2)
    rest = events.list_rules(Limit=2, NextToken=first["NextToken"])
    assert [rule["Name"] for rule in first["Rules"] + rest["Rules"]] == ["A", "Events-Archive-a", "Z"]
    (target,) = events.list_targets_by_rule(Rule="Events-Archive-a")["Targets"]
    assert target["Id"] == "a"
    assert archive["ArchiveArn"] in target["InputTransformer"]["InputTemplate"]
    name = {"Name": "Events-Archive-a"}
    for change, params in (
        (events.put_rule, {**name, "EventPattern": '{"source": ["x"]}'}), (events.disable_rule, name),
        (events.enable_rule, name), (events.delete_rule, name),
        (events.put_targets, {"Rule": name["Name"], "Targets": [{"Id": "1", "Arn": bus_desk.queue("q")}]}),
        (events.remove_targets, {"Rule": name["Name"], "Ids": ["a"]}),
        (events.remove_targets, {"Rule": name["Name"], "Ids": ["a"], "Force": True}),
    ):  # fmt: skip
        assert refusal(change, **params)[0] == "ManagedRuleException"


def test_managed_rule_goes_with_its_archive_and_is_of_its_bus_alone(bus_desk: Any, refusal: Any) -> None:
    events = bus_desk.events
    other = events.create_event_bus(Name="other")["EventBusArn"]
    events.create_archive(ArchiveName="a", EventSourceArn=other)

    assert events.list_rules()["Rules"] == []
    assert [rule["Name"] for rule in events.list_rules(EventBusName="other")["Rules"]] == ["Events-Archive-a"]
    assert refusal(events.describe_rule, Name="Events-Archive-a")[0] == "ResourceNotFoundException"
    events.delete_archive(ArchiveName="a")
    assert events.list_rules(EventBusName="other")["Rules"] == []
