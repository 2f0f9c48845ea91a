"""Mappings at work, beat by beat: batches are received, run, and deleted by what functions answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.delivery.worker import Attempt, FreeSlots
from tests.unit.services.lambda_.functions import QUEUE_ARN, START, STREAM, THROTTLED, Rig, answered, raised

REPORTS = ["ReportBatchItemFailures"]


def map_queue(rig: Rig, name: str = "orders", function: str = "worker", **params: object) -> str:
    """A queue that is mapped to a function; answers the mapping's UUID."""
    rig.create_queue(name)
    rig.create_function(function)
    given = {"EventSourceArn": f"{QUEUE_ARN}{name}", "FunctionName": function, **params}
    return str(rig.call("CreateEventSourceMapping", **given)["UUID"])


def send(rig: Rig, *bodies: str, queue: str = "orders") -> None:
    """Send messages, one by one."""
    for body in bodies:
        rig.sqs("SendMessage", QueueUrl=queue, MessageBody=body)


def slots(free: int | FreeSlots) -> FreeSlots:
    """So many slots that functions do not share, unless said otherwise."""
    return FreeSlots(free) if isinstance(free, int) else free


def claim(rig: Rig, free: int | FreeSlots = 10) -> Sequence[Attempt]:
    """The first beat of the worker alone."""
    return rig.store.run(lambda tx: rig.mappings.claim(tx, free=slots(free)))


def settle(rig: Rig, attempt: Attempt, result: Result) -> None:
    """The third beat of the worker alone."""
    rig.store.run(lambda tx: rig.mappings.settle(tx, attempt, result))


def next_due(rig: Rig, free: int | FreeSlots = 10) -> int | None:
    """When the worker is next due, in milliseconds from the start of time."""
    at = rig.store.run(lambda tx: rig.mappings.next_due(tx, free=slots(free)))
    return None if at is None else at - START


def bodies(attempt: Attempt) -> list[str]:
    """The bodies of a batch."""
    return [record["body"] for record in json.loads(attempt.invocation.payload)["Records"]]


def last_result(rig: Rig, uuid: str) -> str:
    """What the mapping says of its latest batch."""
    return str(rig.call("GetEventSourceMapping", UUID=uuid)["LastProcessingResult"])


def test_messages_reach_the_function_and_are_deleted(rig: Rig) -> None:
    uuid = map_queue(rig)
    send(rig, "one", "two")

    rig.advance(0)

    (event,) = rig.invoker.events
    assert [record["body"] for record in event["Records"]] == ["one", "two"]
    assert event["Records"][0]["attributes"]["ApproximateReceiveCount"] == "1"
    assert event["Records"][0]["eventSourceARN"] == f"{QUEUE_ARN}orders"
    assert rig.count("orders") == 0
    assert last_result(rig, uuid) == "OK"
    assert "at work\n" in rig.around.groups["/aws/lambda/worker"][STREAM]


def test_failed_batch_comes_back_by_the_visibility_timeout(rig: Rig) -> None:
    uuid = map_queue(rig)
    send(rig, "one")
    rig.invoker.answer = lambda _: raised("broken")

    rig.advance(29)
    early = len(rig.invoker.invocations)
    rig.advance(1)

    counts = [event["Records"][0]["attributes"]["ApproximateReceiveCount"] for event in rig.invoker.events]
    assert early == 1
    assert counts == ["1", "2"]
    assert last_result(rig, uuid) == "PROBLEM: Function call failed"


def test_message_that_always_fails_goes_to_the_dlq_of_its_queue(rig: Rig) -> None:
    """It keeps its id."""
    dead = rig.create_queue("dead")
    map_queue(rig)
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 2})
    rig.sqs("SetQueueAttributes", QueueUrl="orders", Attributes={"RedrivePolicy": policy})
    send(rig, "one")
    rig.invoker.answer = lambda _: raised("broken")

    rig.advance(600)

    (message,) = rig.messages("dead")
    assert len(rig.invoker.invocations) == 2
    assert message["MessageId"] == rig.invoker.events[0]["Records"][0]["messageId"]
    assert rig.count("orders") == 0


def test_reported_failures_stay_and_the_others_are_deleted(rig: Rig) -> None:
    map_queue(rig, FunctionResponseTypes=REPORTS)
    send(rig, "bad", "good")

    def report(invocation: Invocation) -> InvocationResult:
        records = json.loads(invocation.payload)["Records"]
        failures = [{"itemIdentifier": one["messageId"]} for one in records if one["body"] == "bad"]
        return answered({"batchItemFailures": failures})

    rig.invoker.answer = report
    rig.advance(30)

    assert [[record["body"] for record in event["Records"]] for event in rig.invoker.events] == [
        ["bad", "good"],
        ["bad"],
    ]
    assert rig.count("orders") == 1


def test_batch_is_no_larger_than_the_mapping_says(rig: Rig) -> None:
    map_queue(rig, BatchSize=2)
    send(rig, "1", "2", "3")

    assert [bodies(attempt) for attempt in claim(rig)] == [["1", "2"], ["3"]]


def test_large_batch_is_received_in_tens(rig: Rig) -> None:
    map_queue(rig, BatchSize=25, MaximumBatchingWindowInSeconds=1)
    send(rig, *(str(number) for number in range(27)))

    (attempt,) = claim(rig)

    assert len(bodies(attempt)) == 25


def test_batch_whose_messages_do_not_fit_one_event_is_split(rig: Rig) -> None:
    map_queue(rig)
    send(rig, *("x" * 1_000_000 for _ in range(8)))

    sizes = [len(bodies(attempt)) for attempt in claim(rig)]

    assert sizes == [6, 2]


def test_split_batch_takes_no_more_than_the_free_slots(rig: Rig) -> None:
    """The messages that found no slot come back by their visibility timeout."""
    map_queue(rig)
    send(rig, *("x" * 1_000_000 for _ in range(8)))

    (attempt,) = claim(rig, free=1)

    assert len(bodies(attempt)) == 6
    assert rig.count("orders") == 8


def test_batches_under_way_are_no_more_than_five_at_first(rig: Rig) -> None:
    map_queue(rig, BatchSize=1)
    send(rig, *"1234567")

    attempts = claim(rig)

    assert len(attempts) == 5
    assert claim(rig) == []
    assert next_due(rig) == 200
    settle(rig, attempts[0], answered(None))
    assert [bodies(attempt) for attempt in claim(rig)] == [["6"]]


@pytest.mark.parametrize(("reserved", "scaling", "room"), [(None, 7, 5), (3, 7, 3), (3, 2, 2), (0, 7, 0)])
def test_concurrency_is_bounded_by_the_mapping_and_the_function(
    rig: Rig, reserved: int | None, scaling: int, room: int
) -> None:
    map_queue(rig, BatchSize=1, ScalingConfig={"MaximumConcurrency": scaling})
    if reserved is not None:
        rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=reserved)
    send(rig, *"123456789")

    assert len(claim(rig, free=20)) == room


@pytest.mark.parametrize(
    ("params", "at_first", "after_a_minute"),
    [
        ({}, 5, 305),
        ({"ScalingConfig": {"MaximumConcurrency": 7}}, 5, 7),
        ({"ProvisionedPollerConfig": {"MinimumPollers": 3, "MaximumPollers": 200}}, 30, 1_030),
    ],
)
def test_full_queue_is_given_more_batches_as_time_passes(
    rig: Rig, params: dict[str, Any], at_first: int, after_a_minute: int
) -> None:
    map_queue(rig, BatchSize=1, **params)
    for _ in range(150):
        send(rig, *"1234567890")

    begun = claim(rig, free=5_000)
    rig.clock.move_to(START + 60_000)
    more = claim(rig, free=5_000)

    assert len(begun) == at_first
    assert len(begun) + len(more) == after_a_minute


@pytest.mark.parametrize(("types", "room"), [([], 2), (["ReportBatchItemFailures"], 5)])
def test_function_that_fails_gets_fewer_batches_unless_its_answers_are_read(
    rig: Rig, types: list[str], room: int
) -> None:
    map_queue(rig, BatchSize=1, FunctionResponseTypes=types)
    send(rig, *"12345")
    for attempt in claim(rig, free=50):
        settle(rig, attempt, raised("broken"))
    send(rig, *"67890")

    assert len(claim(rig, free=50)) == room


def test_pace_is_forgotten_when_the_queue_is_empty(rig: Rig) -> None:
    map_queue(rig, BatchSize=1)
    send(rig, "1")
    (attempt,) = claim(rig)
    settle(rig, attempt, raised("broken"))
    rig.advance(60)
    send(rig, *"1234567")

    assert len(claim(rig, free=50)) == 5


def test_message_that_no_filter_lets_pass_is_deleted(rig: Rig) -> None:
    pattern = '{"body": {"kind": ["order"]}}'
    map_queue(rig, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    send(rig, '{"kind": "order", "id": 1}', '{"kind": "offer"}', "plain", '{"kind": "order", "id": 2}')

    rig.advance(0)

    (event,) = rig.invoker.events
    assert [record["body"] for record in event["Records"]] == [
        '{"kind": "order", "id": 1}', '{"kind": "order", "id": 2}',
    ]  # fmt: skip
    assert rig.count("orders") == 0


def test_queue_of_messages_that_are_all_left_out_is_emptied_at_once(rig: Rig) -> None:
    map_queue(rig, BatchSize=1, FilterCriteria={"Filters": [{"Pattern": '{"body": ["wanted"]}'}]})
    send(rig, *"1234567890", "wanted")

    rig.advance(0)

    assert rig.count("orders") == 0
    assert len(rig.invoker.events) == 1


def test_filters_of_a_fifo_queue_keep_the_order_of_a_group(rig: Rig) -> None:
    rig.create_queue("orders.fifo", FifoQueue="true")
    rig.create_function()
    rig.call(
        "CreateEventSourceMapping", EventSourceArn=f"{QUEUE_ARN}orders.fifo", FunctionName="worker",
        FilterCriteria={"Filters": [{"Pattern": '{"body": [{"anything-but": "b"}]}'}]},
    )  # fmt: skip
    for number, body in enumerate("abcd"):
        rig.sqs(
            "SendMessage", QueueUrl="orders.fifo", MessageBody=body, MessageGroupId="g",
            MessageDeduplicationId=str(number),
        )  # fmt: skip

    rig.advance(0)

    assert [record["body"] for event in rig.invoker.events for record in event["Records"]] == ["a", "c", "d"]


def test_free_slots_are_shared_by_the_mappings_in_turn(rig: Rig) -> None:
    map_queue(rig, "a", "fa", BatchSize=1)
    map_queue(rig, "b", "fb", BatchSize=1)
    send(rig, *"123", queue="a")
    send(rig, *"123", queue="b")

    names = sorted(attempt.invocation.function_name for attempt in claim(rig, free=2))

    assert names == ["fa", "fb"]


def test_function_without_room_for_more_leaves_the_slots_to_others(rig: Rig) -> None:
    map_queue(rig, "a", "fa", BatchSize=1)
    map_queue(rig, "b", "fb", BatchSize=1)
    send(rig, *"123", queue="a")
    send(rig, *"123", queue="b")
    function_arn = claim(rig, free=1)[0].function

    free = FreeSlots(2, {function_arn: 2})
    names = [attempt.function for attempt in claim(rig, free=free)]

    assert len(names) == 1
    assert function_arn not in names
    assert next_due(rig, free=FreeSlots(1, dict.fromkeys([function_arn, *names], 1))) == 63_000


def test_mapping_that_comes_due_later_is_foreseen_while_what_is_due_has_no_slot(rig: Rig) -> None:
    """A function that holds its share keeps its queue due: the worker is due again with what another function gets."""
    map_queue(rig, "a", "fa", BatchSize=1)
    map_queue(rig, "b", "fb", BatchSize=1)
    send(rig, *"12", queue="a")
    rig.sqs("SendMessage", QueueUrl="b", MessageBody="late", DelaySeconds=7)
    (begun,) = claim(rig, free=1)
    full = FreeSlots(1, {begun.function: 1})

    assert claim(rig, free=full) == []
    assert next_due(rig, free=full) == 7_000


def test_worker_without_free_slots_is_not_due(rig: Rig) -> None:
    map_queue(rig)
    send(rig, "one")

    assert next_due(rig, free=0) is None
    assert claim(rig, free=0) == []
    assert next_due(rig, free=1) == 0


@pytest.mark.parametrize("change", ["disabled", "deleted", "function deleted"])
def test_mapping_that_is_not_at_work_takes_nothing(rig: Rig, change: str) -> None:
    uuid = map_queue(rig)
    send(rig, "one")

    if change == "disabled":
        rig.call("UpdateEventSourceMapping", UUID=uuid, Enabled=False)
    elif change == "deleted":
        rig.call("DeleteEventSourceMapping", UUID=uuid)
    else:
        rig.call("DeleteFunction", FunctionName="worker")

    assert claim(rig) == []
    assert next_due(rig) is None
    assert rig.count("orders") == 1


def test_window_waits_for_more_messages(rig: Rig) -> None:
    map_queue(rig, MaximumBatchingWindowInSeconds=20)
    send(rig, "one")
    rig.advance(10)
    send(rig, "two")

    before = len(rig.invoker.invocations)
    rig.advance(10)

    (event,) = rig.invoker.events
    assert before == 0
    assert [record["body"] for record in event["Records"]] == ["one", "two"]


def test_full_batch_does_not_wait_for_the_window(rig: Rig) -> None:
    map_queue(rig, BatchSize=2, MaximumBatchingWindowInSeconds=300)
    send(rig, "one", "two")

    rig.advance(0)

    assert len(rig.invoker.invocations) == 1


def test_delayed_message_is_due_when_it_is_visible(rig: Rig) -> None:
    map_queue(rig)

    claim(rig)

    rig.sqs("SendMessage", QueueUrl="orders", MessageBody="late", DelaySeconds=7)

    assert next_due(rig) == 7_000


def test_batch_is_hidden_for_window_and_timeout_and_30_s_where_the_queue_hides_it_too_short(rig: Rig) -> None:
    map_queue(rig, BatchSize=1, MaximumBatchingWindowInSeconds=60)
    send(rig, "one")
    claim(rig)

    rig.clock.move_to(START + 92_999)
    hidden = rig.messages("orders")
    rig.clock.move_to(START + 93_000)

    assert hidden == []
    assert len(rig.messages("orders")) == 1


def test_batch_whose_lease_has_ended_settles_nothing(rig: Rig) -> None:
    """Its node may still be at work; the messages come back by their visibility timeout."""
    map_queue(rig)
    send(rig, "one")
    (attempt,) = claim(rig)

    rig.clock.move_to(START + 63_000)
    (again,) = claim(rig)
    settle(rig, attempt, answered(None))

    assert rig.count("orders") == 1
    settle(rig, again, answered(None))
    assert rig.count("orders") == 0


def test_batch_that_is_lost_gives_its_room_back(rig: Rig) -> None:
    map_queue(rig, BatchSize=1)
    send(rig, *"12345")
    claim(rig)

    rig.sqs("PurgeQueue", QueueUrl="orders")
    visible_at = next_due(rig)
    rig.clock.move_to(START + 63_000)
    claim(rig)

    assert visible_at == 30_000
    assert next_due(rig) is None


def test_batch_is_settled_once(rig: Rig) -> None:
    map_queue(rig)
    send(rig, "one")
    (attempt,) = claim(rig)

    settle(rig, attempt, raised("broken"))
    settle(rig, attempt, answered(None))

    assert rig.count("orders") == 1


def test_batch_of_a_mapping_deleted_meanwhile_still_comes_to_its_end(rig: Rig) -> None:
    uuid = map_queue(rig)
    send(rig, "one")
    (attempt,) = claim(rig)

    rig.call("DeleteEventSourceMapping", UUID=uuid)
    settle(rig, attempt, answered(None))

    assert rig.count("orders") == 0


def throttle(rig: Rig, attempts: int) -> list[str]:
    """Throttle the function so many times, and answer its runs from then on. Returns the messages of each attempt."""
    asked: list[str] = []

    def answer(invocation: Invocation) -> InvocationResult:
        asked.append(str(json.loads(invocation.payload)["Records"][0]["body"]))
        return THROTTLED if len(asked) <= attempts else answered(None)

    rig.invoker.answer = answer
    return asked


def test_throttled_batch_is_held_and_tried_again_while_its_messages_are_hidden(rig: Rig) -> None:
    """After 1 s, 2 s, 4 s … The messages are not received again, so they come no closer to a dead-letter queue."""
    map_queue(rig, BatchSize=1)
    send(rig, "one")
    asked = throttle(rig, attempts=3)

    rig.advance(1 + 2 + 4 - 0.001)
    before = len(asked)
    rig.advance(0.001)

    assert (before, asked) == (3, ["one"] * 4)
    assert [json.loads(run.payload)["Records"][0]["attributes"]["ApproximateReceiveCount"]
            for run in rig.invoker.invocations] == ["1"] * 4  # fmt: skip
    assert rig.count("orders") == 0


def test_throttled_batch_is_dropped_when_its_messages_are_visible_again(rig: Rig) -> None:
    """The queue's visibility timeout is 30 s: attempts after 1, 3, 7 and 15 s, and then the message is received."""
    map_queue(rig, BatchSize=1)
    send(rig, "one")
    asked = throttle(rig, attempts=5)

    rig.advance(29)
    before = len(asked)
    rig.advance(2)

    assert (before, len(asked)) == (5, 6)
    assert json.loads(rig.invoker.invocations[-1].payload)["Records"][0]["attributes"]["ApproximateReceiveCount"] == "2"
    assert rig.count("orders") == 0


def test_held_batch_counts_against_the_concurrency_of_its_mapping(rig: Rig) -> None:
    """Throttles take room from the mapping as errors do: of five batches at first, two are left."""
    map_queue(rig, BatchSize=1)
    send(rig, *map(str, range(9)))

    for attempt in claim(rig):
        settle(rig, attempt, THROTTLED)

    assert claim(rig) == []
    assert rig.count("orders") == 9


def test_held_batch_waits_for_a_slot(rig: Rig) -> None:
    map_queue(rig, BatchSize=1)
    send(rig, "one")
    (attempt,) = claim(rig, free=1)
    settle(rig, attempt, THROTTLED)
    rig.clock.move_to(START + 1_000)

    busy = FreeSlots(1, {attempt.function: 1})

    assert claim(rig, free=busy) == []
    assert claim(rig) == []
    rig.clock.move_to(START + 2_000)
    (again,) = claim(rig)
    assert again.invocation.payload == attempt.invocation.payload


def test_held_batch_of_a_deleted_mapping_is_dropped(rig: Rig) -> None:
    uuid = map_queue(rig, BatchSize=1)
    send(rig, "one")
    asked = throttle(rig, attempts=1)

    rig.advance(0)
    rig.call("DeleteEventSourceMapping", UUID=uuid)
    rig.advance(5)

    assert asked == ["one"]
    assert rig.count("orders") == 1
    assert next_due(rig) is None


def test_queue_that_refuses_is_polled_again_a_minute_later(rig: Rig) -> None:
    uuid = map_queue(rig)
    send(rig, "one")
    rig.around.actions_refused.add("sqs:ReceiveMessage")

    rig.advance(1)
    refused = last_result(rig, uuid)
    rig.around.actions_refused.clear()
    rig.advance(58)
    before = len(rig.invoker.invocations)
    rig.advance(1)

    assert refused == "PROBLEM: no: sqs:ReceiveMessage"
    assert before == 0
    assert len(rig.invoker.invocations) == 1


def test_deletion_that_is_refused_is_noted(rig: Rig) -> None:
    uuid = map_queue(rig)
    send(rig, "one")
    (attempt,) = claim(rig)

    rig.sqs("DeleteQueue", QueueUrl="orders")
    settle(rig, attempt, answered(None))

    assert last_result(rig, uuid) == "PROBLEM: The specified queue does not exist."


def test_quiet_queue_leaves_nothing_to_do(rig: Rig) -> None:
    """Once all messages are done, the worker foresees nothing."""
    map_queue(rig)
    send(rig, "one")

    rig.advance(3600)

    assert next_due(rig) is None
