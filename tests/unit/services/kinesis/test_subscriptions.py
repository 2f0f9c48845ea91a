"""SubscribeToShard: records as they come, quiet events, the end of a shard, one subscriber at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import EventStream
from redrive.services.kinesis.model.subscription import Subscription
from redrive.testing.world import World
from tests.unit.services.kinesis.conftest import ARN, FIRST, NAME, SECOND, Call, Refusal

SCOPE = Scope("000000000000", "us-east-1")
OTHER = Caller(Scope("111111111111", "us-east-1"), "r")
OLDEST = {"Type": "TRIM_HORIZON"}
QUIET_S, HELD_S, ALL_S = 5, 5, 300


@pytest.fixture
def consumer(call: Call, stream: str) -> str:
    """The ARN of a consumer of the stream."""
    return str(call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="app")["Consumer"]["ConsumerARN"])


class Subscriber:
    """A subscription, asked again as a server would: at each notification, and when an event is due."""

    def __init__(self, world: World, consumer: str, **position: object) -> None:
        self._world = world
        params = {"ConsumerARN": consumer, "ShardId": FIRST, "StartingPosition": position or OLDEST}
        caller = world.caller()
        answer = world.store.run(
            lambda tx: world.engine.registry.begin(tx, caller, "kinesis", "SubscribeToShard", params)
        )
        assert isinstance(answer, EventStream)
        self.stream = answer
        self.events = self._taken(answer)

    def ask(self) -> list[dict[str, Any]]:
        """The next events; an error ends the stream."""
        assert self.stream.more is not None, "the stream has ended"
        answer = self._world.store.run(self.stream.more.resume)
        if isinstance(answer, ServiceError):
            raise answer
        self.stream = answer
        return self._taken(answer)

    def leave(self) -> None:
        """Do what a server does when the client has gone."""
        assert self.stream.more is not None, "the stream has ended"
        self._world.store.run(self.stream.more.leave)

    @property
    def due_in_ms(self) -> int:
        assert self.stream.more is not None, "the stream has ended"
        return self.stream.more.again_at - self._world.clock.now()

    @staticmethod
    def _taken(answer: EventStream) -> list[dict[str, Any]]:
        return [event["SubscribeToShardEvent"] for event in answer.events]


Subscribe = Callable[..., Subscriber]


@pytest.fixture
def subscribe(world: World, consumer: str) -> Subscribe:
    return lambda **position: Subscriber(world, consumer, **position)


def data(events: list[dict[str, Any]]) -> list[bytes]:
    return [record["Data"] for event in events for record in event["Records"]]


def subscriptions(world: World) -> int:
    return world.store.run(lambda tx: tx.resources.count(Subscription, SCOPE))


def test_records_come_in_order_and_continue_after_the_last(subscribe: Subscribe, put: Callable[..., list[str]]) -> None:
    first = put("a", "b")
    subscriber = subscribe()
    second = put("c")

    further = subscriber.ask()

    assert (data(subscriber.events), data(further)) == ([b"a", b"b"], [b"c"])
    numbers = [events[0]["ContinuationSequenceNumber"] for events in (subscriber.events, further)]
    assert numbers == [first[-1], second[-1]]
    assert further[0]["MillisBehindLatest"] == 0
    assert further[0]["Records"][0].keys() == {"SequenceNumber", "ApproximateArrivalTimestamp", "Data", "PartitionKey"}


@pytest.mark.parametrize(
    ("kind", "numbered", "found"),
    [
        ("TRIM_HORIZON", False, [b"a", b"b"]),
        ("LATEST", False, []),
        ("AT_SEQUENCE_NUMBER", True, [b"a", b"b"]),
        ("AFTER_SEQUENCE_NUMBER", True, [b"b"]),
    ],
)
def test_position_decides_where_a_subscription_begins(
    subscribe: Subscribe, put: Callable[..., list[str]], kind: str, numbered: bool, found: list[bytes]
) -> None:
    first, _ = put("a", "b")

    subscriber = subscribe(Type=kind, **({"SequenceNumber": first} if numbered else {}))

    assert data(subscriber.events) == found


def test_timestamp_is_a_position(world: World, subscribe: Subscribe, put: Callable[..., list[str]]) -> None:
    put("a")
    world.advance(seconds=1)
    put("b")

    assert data(subscribe(Type="AT_TIMESTAMP", Timestamp=world.clock.now()).events) == [b"b"]


def test_continuation_of_a_quiet_event_is_a_position(
    world: World, subscribe: Subscribe, put: Callable[..., list[str]]
) -> None:
    put("a")
    subscriber = subscribe(Type="LATEST")
    (quiet,) = subscriber.events
    world.advance(seconds=HELD_S)
    put("b")

    again = subscribe(Type="AFTER_SEQUENCE_NUMBER", SequenceNumber=quiet["ContinuationSequenceNumber"])

    assert (quiet["Records"], data(again.events)) == ([], [b"b"])


def test_quiet_shard_tells_from_time_to_time_how_far_it_is(world: World, subscribe: Subscribe) -> None:
    subscriber = subscribe()
    assert subscriber.due_in_ms == QUIET_S * 1_000

    world.advance(seconds=QUIET_S - 1)
    early = subscriber.ask()
    world.advance(seconds=1)
    (quiet,) = subscriber.ask()

    assert (early, quiet["Records"], quiet["MillisBehindLatest"]) == ([], [], 0)
    assert int(quiet["ContinuationSequenceNumber"]) > int(subscriber.events[0]["ContinuationSequenceNumber"])


def test_records_of_another_shard_are_no_event(subscribe: Subscribe, put: Callable[..., list[str]]) -> None:
    subscriber = subscribe()

    put("other", key=str(1 << 127))

    assert subscriber.ask() == []


def test_large_backlog_comes_at_2_mb_per_second(world: World, subscribe: Subscribe, put: Any) -> None:
    """Asked before that, as when records arrive meanwhile, the stream gives nothing, and is due at the same instant."""
    for _ in range(3):
        put("x" * 1_000_000)
        world.advance(seconds=1)

    subscriber = subscribe()
    behind = subscriber.events[0]["MillisBehindLatest"]
    due_ms = subscriber.due_in_ms
    world.advance(seconds=0.1)
    early, left_ms = subscriber.ask(), subscriber.due_in_ms
    world.advance(seconds=left_ms / 1_000)
    further = subscriber.ask()

    assert due_ms == 2 * 1_000_001 * 1_000 // (2 * 1_024 * 1_024)
    assert (early, left_ms) == ([], due_ms - 100)
    assert [len(one["Records"]) for one in (*subscriber.events, *further)] == [2, 1]
    assert (behind > 0, further[0]["MillisBehindLatest"]) == (True, 0)


def test_backlog_comes_at_once_where_rates_are_not_limited() -> None:
    unlimited = World(seed=1)
    try:
        unlimited.call("kinesis", "CreateStream", StreamName="orders", ShardCount=1)
        unlimited.advance(seconds=60)
        arn = unlimited.call("kinesis", "DescribeStreamSummary", StreamName="orders")["StreamDescriptionSummary"]
        registered = unlimited.call(
            "kinesis", "RegisterStreamConsumer", StreamARN=arn["StreamARN"], ConsumerName="app"
        )["Consumer"]["ConsumerARN"]
        for _ in range(3):
            unlimited.call("kinesis", "PutRecord", StreamName="orders", Data=b"x" * 1_000_000, PartitionKey="k")

        subscriber = Subscriber(unlimited, registered)

        assert subscriber.due_in_ms == 0
        assert len(subscriber.ask()[0]["Records"]) == 1
    finally:
        unlimited.close()


def test_subscription_ends_after_five_minutes(world: World, subscribe: Subscribe) -> None:
    subscriber = subscribe()
    world.advance(seconds=ALL_S - 1)
    subscriber.ask()
    assert subscriber.due_in_ms == 1_000

    world.advance(seconds=1)

    assert subscriber.ask() == []
    assert (subscriber.stream.more, subscriptions(world)) == (None, 0)


def test_end_of_a_closed_shard_names_its_children(world: World, call: Call, subscribe: Subscribe, put: Any) -> None:
    subscriber = subscribe()
    put("last")
    world.advance(seconds=HELD_S)
    call("SplitShard", StreamName=NAME, ShardToSplit=FIRST, NewStartingHashKey="5")

    (event,) = subscriber.ask()

    assert data([event]) == [b"last"]
    assert [child["ShardId"] for child in event["ChildShards"]] == ["shardId-000000000002", "shardId-000000000003"]
    assert "ContinuationSequenceNumber" not in event
    assert (subscriber.stream.more, subscriptions(world)) == (None, 0)


def test_second_call_within_five_seconds_is_refused(
    world: World, consumer: str, subscribe: Subscribe, call: Call
) -> None:
    first = subscribe()
    world.advance(seconds=HELD_S - 1)

    with pytest.raises(ServiceError) as caught:
        subscribe()

    assert caught.value.code == "ResourceInUseException"
    assert first.ask() == []
    other = call("SubscribeToShard", ConsumerARN=consumer, ShardId=SECOND, StartingPosition=OLDEST)
    assert len(other["EventStream"]) == 1


def test_later_call_takes_over_and_the_earlier_one_ends(world: World, subscribe: Subscribe, put: Any) -> None:
    first = subscribe()
    world.advance(seconds=HELD_S)
    second = subscribe()

    with pytest.raises(ServiceError) as caught:
        first.ask()
    first.leave()
    put("a")

    assert caught.value.code == "ResourceInUseException"
    assert data(second.ask()) == [b"a"]


def test_client_that_has_gone_leaves_nothing(world: World, subscribe: Subscribe) -> None:
    subscriber = subscribe()
    world.advance(seconds=HELD_S)
    assert subscriptions(world) == 1

    subscriber.leave()

    assert subscriptions(world) == 0


@pytest.mark.parametrize("is_whole", [False, True])
def test_deregistered_consumer_and_deleted_stream_end_their_subscriptions(
    world: World, call: Call, consumer: str, subscribe: Subscribe, is_whole: bool
) -> None:
    subscriber = subscribe()
    if is_whole:
        call("DeleteStream", StreamName=NAME, EnforceConsumerDeletion=True)
    else:
        call("DeregisterStreamConsumer", ConsumerARN=consumer)

    with pytest.raises(ServiceError) as caught:
        subscriber.ask()

    assert (caught.value.code, subscriptions(world)) == ("ResourceNotFoundException", 0)


def test_consumer_of_the_same_name_is_another(world: World, call: Call, consumer: str, subscribe: Subscribe) -> None:
    subscriber = subscribe()
    call("DeregisterStreamConsumer", ConsumerARN=consumer)
    world.advance(seconds=1)
    call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="app")

    with pytest.raises(ServiceError) as caught:
        subscriber.ask()

    assert caught.value.code == "ResourceNotFoundException"


def test_position_shard_and_consumer_are_checked(call: Call, consumer: str, refusal: Refusal) -> None:
    def refused(**changes: object) -> str:
        params = {"ConsumerARN": consumer, "ShardId": FIRST, "StartingPosition": OLDEST, **changes}
        return refusal("SubscribeToShard", **params)[0]

    assert refused(ShardId="shardId-000000000009") == "ResourceNotFoundException"
    assert refused(ConsumerARN=f"{ARN}/consumer/ghost:1") == "ResourceNotFoundException"
    assert refused(StartingPosition={"Type": "AT_SEQUENCE_NUMBER"}) == "InvalidArgumentException"
    assert refused(DryRun=True) == "DryRunOperationException"


def test_another_account_may_not_subscribe_unless_the_policy_says_so(world: World, consumer: str) -> None:
    params = {"ConsumerARN": consumer, "ShardId": FIRST, "StartingPosition": OLDEST}

    with pytest.raises(ServiceError) as caught:
        world.engine.call(OTHER, "kinesis", "SubscribeToShard", params)

    assert caught.value.code == "AccessDeniedException"


def test_client_in_process_receives_what_there_is(world: World, call: Call, consumer: str, put: Any) -> None:
    put("a", "b")
    kinesis = world.client("kinesis")

    answer = kinesis.subscribe_to_shard(ConsumerARN=consumer, ShardId=FIRST, StartingPosition=OLDEST)
    events = [event["SubscribeToShardEvent"] for event in answer["EventStream"]]

    assert data(events) == [b"a", b"b"]


def test_subscriptions_are_counted_for_each_consumer(world: World, call: Call, consumer: str, put: Any) -> None:
    put("abc")
    call("SubscribeToShard", ConsumerARN=consumer, ShardId=FIRST, StartingPosition=OLDEST)
    now = world.clock.now()
    world.advance(minutes=2)

    def total(name: str) -> float:
        dimensions = [{"Name": "ConsumerName", "Value": "app"}, {"Name": "StreamName", "Value": NAME}]
        found = world.call(
            "cloudwatch", "GetMetricStatistics", Namespace="AWS/Kinesis", MetricName=name, Dimensions=dimensions,
            StartTime=now - 3_600_000, EndTime=now + 120_000, Period=3_600, Statistics=["Sum"],
        )  # fmt: skip
        return float(sum(point["Sum"] for point in found["Datapoints"]))

    event = "SubscribeToShardEvent"
    names = ["SubscribeToShard.Success", f"{event}.Success", f"{event}.Records", f"{event}.Bytes"]
    assert [total(name) for name in names] == [1, 1, 1, 4]
