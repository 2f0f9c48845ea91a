"""Replays: archived events go to the rules of their bus again, once each, minute by minute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.knobs import PRODUCTION
from redrive.services.events.limits import REPLAYS_MAX
from redrive.services.events.workers.replays import ReplayWorker
from redrive.testing.world import START, World

BUS_ARN = "arn:aws:events:us-east-1:000000000000:event-bus/default"
ARCHIVE_ARN = "arn:aws:events:us-east-1:000000000000:archive/all"
BEGINNING = datetime.fromtimestamp(START / 1000, UTC)
SHOP = '{"source":["shop"]}'


class Bus:
    """A bus with an archive, and a queue for each of its rules."""

    def __init__(self) -> None:
        self.world = World(region="us-east-1")
        self.events: Any = self.world.client("events")
        self.sqs: Any = self.world.client("sqs")
        self.events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)

    def rule(self, name: str, pattern: str = SHOP) -> str:
        """Make or change a rule, which sends to the queue of its name; returns the rule's ARN."""
        arn = f"arn:aws:sqs:us-east-1:000000000000:{name}"
        allowed = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [{**allowed, "Resource": arn}]})
        self.sqs.create_queue(QueueName=name, Attributes={"Policy": policy})
        rule_arn = self.events.put_rule(Name=name, EventPattern=pattern)["RuleArn"]
        self.events.put_targets(Rule=name, Targets=[{"Id": "q", "Arn": arn}])
        return str(rule_arn)

    def put(self, *numbers: int, minute: int = 0) -> None:
        """Put events whose time lies in a minute after the beginning."""
        for first in range(0, len(numbers), 10):
            entries = [
                {
                    "Source": "shop", "DetailType": "order", "Detail": json.dumps({"n": number}),
                    "Time": BEGINNING + timedelta(minutes=minute),
                }
                for number in numbers[first : first + 10]
            ]  # fmt: skip
            self.events.put_events(Entries=entries)

    def start(self, name: str = "again", *, rules: Sequence[str] = (), minutes: int = 60, **changes: object) -> Any:
        """Start a replay of the minutes after the beginning."""
        destination = {"Arn": BUS_ARN, **({"FilterArns": list(rules)} if rules else {})}
        params = {
            "ReplayName": name, "EventSourceArn": ARCHIVE_ARN, "EventStartTime": BEGINNING,
            "EventEndTime": BEGINNING + timedelta(minutes=minutes), "Destination": destination, **changes,
        }  # fmt: skip
        return self.events.start_replay(**params)

    def shown(self, name: str = "again") -> Any:
        return self.events.describe_replay(ReplayName=name)

    def received(self, queue: str) -> list[dict[str, Any]]:
        """All events of a queue, in order; they are deleted."""
        self.world.settle()
        url = self.sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        found: list[dict[str, Any]] = []
        while messages := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                found.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def numbers(self, queue: str) -> list[int]:
        return [event["detail"]["n"] for event in self.received(queue)]

    def refused(self, **changes: object) -> tuple[str, str]:
        with pytest.raises(ClientError) as error:
            self.start(**changes)  # type: ignore[arg-type]
        return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


@pytest.fixture
def bus() -> Bus:
    return Bus()


def test_replayed_event_is_the_same_event_and_names_its_replay_after_the_region(bus: Bus) -> None:
    bus.rule("orders")
    bus.put(1)
    (original,) = bus.received("orders")

    started = bus.start()

    assert started["ReplayArn"] == "arn:aws:events:us-east-1:000000000000:replay/again"
    assert started["State"] == "STARTING"
    (again,) = bus.received("orders")
    assert list(again)[6:9] == ["region", "replay-name", "resources"]
    assert again.pop("replay-name") == "again"
    assert again == original


def test_replay_takes_events_of_its_range_alone_and_earlier_minutes_first(bus: Bus) -> None:
    for minute in (50, 7, 30, 61, 7):
        bus.put(minute, minute=minute)
    bus.rule("orders")

    bus.start(minutes=60)

    assert bus.numbers("orders") == [7, 7, 30, 50]


def test_ended_replay_tells_its_progress_and_times(bus: Bus) -> None:
    bus.put(1, minute=3)
    bus.put(2, minute=9)
    bus.world.advance(hours=2)

    bus.start(Description="d")
    bus.world.settle()

    shown = bus.shown()
    assert (shown["State"], shown["Description"], shown["EventSourceArn"]) == ("COMPLETED", "d", ARCHIVE_ARN)
    assert shown["EventLastReplayedTime"] == BEGINNING + timedelta(minutes=9)
    assert shown["ReplayStartTime"] == shown["ReplayEndTime"] == BEGINNING + timedelta(hours=2)
    assert shown["Destination"] == {"Arn": BUS_ARN}


def test_replay_of_an_empty_range_is_completed_and_has_replayed_nothing(bus: Bus) -> None:
    bus.start()
    bus.world.settle()

    assert bus.shown()["State"] == "COMPLETED"
    assert "EventLastReplayedTime" not in bus.shown()


def test_chosen_rules_alone_get_replayed_events(bus: Bus) -> None:
    bus.put(1)
    arns = [bus.rule(name) for name in ("one", "two", "three")]

    bus.start(rules=arns[:2])

    assert [bus.numbers(name) for name in ("one", "two", "three")] == [[1], [1], []]


def test_chosen_rule_gets_only_what_its_pattern_matches(bus: Bus) -> None:
    bus.put(1)
    arn = bus.rule("bank", '{"source":["bank"]}')

    bus.start(rules=[arn])

    assert bus.numbers("bank") == []


def test_rules_can_tell_replayed_events_by_the_name(bus: Bus) -> None:
    bus.rule("first", '{"replay-name":[{"exists":false}]}')
    bus.rule("again", '{"replay-name":["again"]}')
    bus.put(1)

    bus.start()

    assert (bus.numbers("first"), bus.numbers("again")) == ([1], [1])


def test_replayed_events_are_not_archived_again(bus: Bus) -> None:
    bus.put(1, 2, 3)

    bus.start()
    bus.world.settle()

    assert bus.events.describe_archive(ArchiveName="all")["EventCount"] == 3


def test_second_replay_delivers_again(bus: Bus) -> None:
    bus.put(1)
    bus.rule("orders")

    bus.start("a")
    bus.start("b")

    assert sorted(event["replay-name"] for event in bus.received("orders")) == ["a", "b"]


def test_large_archive_is_replayed_in_pieces_each_event_once(bus: Bus) -> None:
    count = 2 * PRODUCTION.events_replayed_per_claim + 3
    bus.put(*range(count))
    bus.rule("orders")

    bus.start()

    assert sorted(bus.numbers("orders")) == list(range(count))
    assert bus.shown()["State"] == "COMPLETED"


def one_piece(bus: Bus, events: int) -> None:
    """Let the worker do one transaction, with a bound on its events."""
    worker = ReplayWorker(per_claim=events)
    bus.world.store.run(lambda tx: worker.claim(tx, free=None))  # type: ignore[arg-type]


def test_replay_is_running_between_its_pieces_and_tells_how_far_it_is(bus: Bus) -> None:
    for minute in (1, 2, 3):
        bus.put(minute, minute=minute)

    bus.start()
    one_piece(bus, 2)

    assert bus.shown()["State"] == "RUNNING"
    assert bus.shown()["EventLastReplayedTime"] == BEGINNING + timedelta(minutes=2)
    assert "ReplayEndTime" not in bus.shown()


def test_cancelled_replay_delivers_what_it_had_replayed_and_no_more(bus: Bus) -> None:
    bus.put(1, 2, 3, 4)
    bus.rule("orders")
    bus.start()
    one_piece(bus, 2)

    answer = bus.events.cancel_replay(ReplayName="again")

    assert answer["State"] == "CANCELLING"
    assert bus.numbers("orders") == [1, 2]
    assert bus.shown()["State"] == "CANCELLED"


def test_ended_replay_cannot_be_cancelled(bus: Bus) -> None:
    bus.start()
    bus.world.settle()

    with pytest.raises(ClientError) as error:
        bus.events.cancel_replay(ReplayName="again")

    assert error.value.response["Error"]["Code"] == "IllegalStatusException"


def test_rule_that_is_changed_or_deleted_meanwhile_decides_from_then_on(bus: Bus) -> None:
    bus.put(1, 2, 3, 4)
    bus.rule("changed")
    bus.rule("deleted")
    bus.rule("later", '{"source":["bank"]}')
    bus.start()
    one_piece(bus, 2)

    bus.rule("changed", '{"source":["bank"]}')
    bus.rule("later")
    bus.events.remove_targets(Rule="deleted", Ids=["q"])
    bus.events.delete_rule(Name="deleted")

    assert [bus.numbers(name) for name in ("changed", "deleted", "later")] == [[1, 2], [1, 2], [3, 4]]


def test_replay_of_a_deleted_archive_fails_and_says_why(bus: Bus) -> None:
    bus.put(1, 2)
    bus.start()
    one_piece(bus, 1)

    bus.events.delete_archive(ArchiveName="all")
    bus.events.create_archive(ArchiveName="all", EventSourceArn=BUS_ARN)
    bus.world.settle()

    shown = bus.shown()
    assert (shown["State"], shown["StateReason"]) == ("FAILED", "Archive all does not exist.")


def test_events_archived_after_the_start_are_left_out(bus: Bus) -> None:
    """Otherwise a function that answers each replayed event with a new event would prolong the replay for ever."""
    bus.put(1, 2)
    bus.rule("orders", '{"replay-name":["again"]}')
    bus.start()
    one_piece(bus, 1)

    bus.put(3)

    assert bus.numbers("orders") == [1, 2]


def test_expiry_during_a_replay_neither_repeats_nor_skips_what_is_left(bus: Bus) -> None:
    bus.put(1, 2)
    bus.world.advance(days=2)
    bus.put(3, 4)
    bus.rule("orders")
    bus.start()
    one_piece(bus, 3)

    bus.world.store.run(lambda tx: tx.archives.expire(_archive_id(bus), tx.now + 1, limit=10))

    assert bus.numbers("orders") == [1, 2, 3]
    assert bus.shown()["State"] == "COMPLETED"


def _archive_id(bus: Bus) -> str:
    (found,) = bus.world.store.connection.execute("SELECT min(archive) FROM archived_events").fetchone()
    return str(found)


def test_refused_replays_have_the_recorded_codes_and_sentences(bus: Bus) -> None:
    bus.events.create_event_bus(Name="own")
    own = BUS_ARN.replace("default", "own")
    prefix = "Parameter {} is not valid. Reason: {}"

    assert bus.refused(EventSourceArn=ARCHIVE_ARN.replace("/all", "/no")) == (
        "ValidationException", prefix.format("EventSourceArn", "Archive no does not exist."),
    )  # fmt: skip
    assert bus.refused(Destination={"Arn": own}) == (
        "ValidationException", prefix.format("Destination.Arn", "Cross event bus replay is not permitted."),
    )  # fmt: skip
    assert bus.refused(EventEndTime=BEGINNING) == (
        "ValidationException", prefix.format("EventEndTime", "EventStartTime must be before EventEndTime."),
    )  # fmt: skip
    assert bus.refused(Destination={"Arn": BUS_ARN.replace("default", "no")}) == (
        "ResourceNotFoundException", "Event bus no does not exist.",
    )  # fmt: skip
    for arn in ("arn:aws:events", "default", BUS_ARN.replace("event-bus/", "rule/"), BUS_ARN + "\n"):
        code, message = bus.refused(Destination={"Arn": arn})
        assert (code, message.partition(" is")[0]) == ("ValidationException", "Parameter Destination.Arn")
    bus.start()
    assert bus.refused() == ("ResourceAlreadyExistsException", "Replay again already exists.")
    for call in (bus.events.describe_replay, bus.events.cancel_replay):
        with pytest.raises(ClientError, match=r"Replay no does not exist\."):
            call(ReplayName="no")


def test_ten_replays_run_at_once_and_an_eleventh_waits_for_one_to_end(bus: Bus) -> None:
    for number in range(REPLAYS_MAX):
        bus.start(f"r{number}")

    assert bus.refused(name="more")[0] == "LimitExceededException"
    bus.world.settle()
    assert bus.start("more")["State"] == "STARTING"


def test_replays_are_listed_by_prefix_state_and_archive(bus: Bus) -> None:
    bus.start("a1")
    bus.start("b1")
    bus.world.settle()
    bus.start("a2")

    def names(**params: object) -> list[str]:
        return [replay["ReplayName"] for replay in bus.events.list_replays(**params)["Replays"]]

    assert names() == ["a1", "a2", "b1"]
    assert names(NamePrefix="a") == ["a1", "a2"]
    assert names(State="COMPLETED") == ["a1", "b1"]
    assert names(EventSourceArn=ARCHIVE_ARN, Limit=1) == ["a1"]


def test_replay_is_forgotten_ninety_days_after_its_end(bus: Bus) -> None:
    bus.start()
    bus.world.advance(days=89)
    assert bus.shown()["State"] == "COMPLETED"

    bus.world.advance(days=2)

    assert bus.events.list_replays()["Replays"] == []
