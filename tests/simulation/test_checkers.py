"""Each checker can fail: shown what it exists to refuse, it refuses; shown its neighbour, it does not."""

from __future__ import annotations

import pytest

from redrive.core.clock import HOUR_MS, MINUTE_MS, format_instant
from redrive.core.documents import dump_json
from redrive.delivery.outside.invocation import FunctionCode, Invocation
from redrive.delivery.worker import Attempt
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.groups import GroupsInOrder
from redrive.sim.checkers.happenings import (
    Accepted,
    Deleting,
    GroupReceived,
    Handled,
    Happening,
    LeftMessage,
    Occurred,
    Received,
    Recorded,
    Settled,
    Took,
    Tried,
)
from redrive.sim.checkers.rules import (
    Checker,
    Conservation,
    DeadLetters,
    Drained,
    EffectsOnce,
    NothingInvented,
    Receives,
    Retries,
    Settlements,
    Slots,
)
from redrive.sim.checkers.schedules import Planned, ScheduledInstants
from redrive.store.tables.attempts import AttemptRecord, RunState


def attempt(fence: int = 1, payload: bytes = b"{}") -> Attempt:
    code = FunctionCode("digest", "app.handler", "python3.12")
    invocation = Invocation("r", "arn", "notify", "$LATEST", "1", code, payload, 10_000, 128, "role", "group")
    return Attempt("delivery", "event", fence, invocation)


def took(fence: int = 1, *, free: int = 1, payload: bytes = b"{}", at: int = 0) -> Took:
    return Took("node-1", free, at, [attempt(fence, payload)])


def settled(
    fence: int = 1, state: RunState = RunState.RETRYING, *, code: str = "Unhandled", next_at: int | None = 1
) -> Settled:
    record = AttemptRecord("event", "arn", fence, 0, state, code, next_at=next_at)
    return Settled("node-1", attempt(fence), [record])


def left(key: str = "a", queue: str = "mail", source: str = "", **attributes: str) -> LeftMessage:
    return LeftMessage(queue, "m-1", f'{{"key":"{key}"}}', 0, source, attributes)


def passes(checker: Checker, *happenings: Happening, remains: tuple[LeftMessage, ...] = ()) -> bool:
    """Whether the rule holds of this history."""
    try:
        for happening in happenings:
            checker.observe(happening)
        checker.finish(remains)
    except RuleBroken:
        return False
    return True


def received(count: int, at: int) -> Received:
    return Received("m-1", count, at, hidden_until=at + 30)


def batch(count: int) -> bytes:
    return b'{"Records":[{"messageId":"m-1","attributes":{"ApproximateReceiveCount":"%d"}}]}' % count


def test_accepted_work_is_handled_or_left() -> None:
    assert passes(Conservation(), Accepted("a"), Handled("a"))
    assert passes(Conservation(), Accepted("a"), remains=(left("a"),))
    assert not passes(Conservation(), Accepted("a"), remains=(left("b"),))


def test_work_is_handed_in_before_it_is_handled_or_left() -> None:
    assert passes(NothingInvented(), Tried("a", 0), Handled("a"), remains=(left("a"),))
    assert not passes(NothingInvented(), Handled("a"), Tried("a", 0))
    assert not passes(NothingInvented(), remains=(left("a"),))


def test_worked_off_queues_are_empty_in_the_end() -> None:
    assert passes(Drained(["mail"]), remains=(left(queue="mail-dlq"),))
    assert not passes(Drained(["mail"]), remains=(left(queue="mail"),))


def test_claim_fits_into_the_free_slots() -> None:
    assert passes(Slots(inside_max=10), took(free=1))
    assert not passes(Slots(inside_max=10), took(free=0))


def test_only_the_latest_fence_settles() -> None:
    assert passes(Settlements(), took(1), took(2), settled(2))
    assert not passes(Settlements(), took(1), took(2), settled(1))


def test_one_fence_settles_once() -> None:
    assert passes(Settlements(), took(1), settled(1), took(2), settled(2))
    assert not passes(Settlements(), took(1), settled(1), settled(1))


def test_ended_delivery_is_not_settled_again() -> None:
    assert not passes(Settlements(), took(1), settled(1, RunState.DELIVERED), took(2), settled(2))


def test_counted_retries_stay_within_the_policy() -> None:
    history: list[Happening] = [took(1), settled(1), settled(2)]

    assert passes(Retries(retries_max={"notify": 2}, age_ms_max={"notify": 9}), *history)
    assert passes(
        Retries(retries_max={"notify": 1}, age_ms_max={"notify": 9}), took(1), settled(1), settled(2, code="Throttled")
    )
    assert not passes(Retries(retries_max={"notify": 1}, age_ms_max={"notify": 9}), *history)


def test_no_retry_comes_after_the_event_is_too_old() -> None:
    limits = Retries(retries_max={"notify": 2}, age_ms_max={"notify": 9})

    assert not passes(limits, took(1, at=5), settled(1, next_at=15))


def test_message_has_one_holder_at_a_time() -> None:
    assert passes(Receives(), received(1, at=0), received(2, at=30))
    assert not passes(Receives(), received(1, at=0), received(2, at=29))
    assert not passes(Receives(), received(1, at=0), took(payload=batch(2), at=29))


def test_receive_count_rises_with_every_receive() -> None:
    assert passes(Receives(), received(1, at=0), took(payload=batch(2), at=30))
    assert not passes(Receives(), received(2, at=0), received(2, at=30))


def test_held_batch_is_run_again_by_the_same_receive() -> None:
    """Once its run was throttled; not while it runs, and not twice."""
    first, again = took(1, payload=batch(1)), took(2, payload=batch(1), at=9)
    held = Settled("node-1", first.attempts[0], (), is_throttled=True)

    assert passes(Receives(), first, held, again)
    assert passes(Receives(), first, held, again, held, again)
    assert not passes(Receives(), first, again)
    assert not passes(Receives(), first, held, again, again)


def test_late_settlement_holds_no_batch() -> None:
    """It has no outcome, as that of a held batch, but the batch has had its outcome before, or its function ran."""
    first, again = took(1, payload=batch(1)), took(2, payload=batch(1), at=10_000)
    outcome = Settled("node-1", first.attempts[0], settled(1).records)
    late = Settled("node-1", first.attempts[0], (), is_throttled=True)
    ran = Settled("node-1", first.attempts[0], ())

    assert not passes(Receives(), first, outcome, late, again)
    assert not passes(Receives(), first, ran, again)


def test_effect_is_recorded_once_for_each_key() -> None:
    assert passes(EffectsOnce(), Recorded("a"), Recorded("b"))
    assert not passes(EffectsOnce(), Recorded("a"), Recorded("a"))


def test_dead_letter_has_its_attributes_and_its_source() -> None:
    checker = DeadLetters({"dlq": ["RequestID"]}, {"dlq": "mail"})

    assert passes(checker, remains=(left(queue="dlq", source="arn:mail", RequestID="1"), left(queue="mail")))
    assert not passes(checker, remains=(left(queue="dlq", source="arn:mail"),))
    assert not passes(checker, remains=(left(queue="dlq", source="arn:post", RequestID="1"),))


def group_received(*keys: str, at: int = 0) -> GroupReceived:
    return GroupReceived("g", [(key, f"id of {key}") for key in keys], at, hidden_until=at + 30)


def test_group_is_received_in_the_order_of_its_numbers() -> None:
    assert passes(GroupsInOrder(), group_received("a-1", "a-2"), group_received("a-1", "a-2", "a-10", at=30))
    assert not passes(GroupsInOrder(), group_received("a-2", "a-1"))
    assert not passes(GroupsInOrder(), group_received("a-2"), group_received("a-1", at=30))


def test_group_has_one_holder_at_a_time() -> None:
    assert passes(GroupsInOrder(), group_received("a-1"), Deleting("a-1"), group_received("a-2", at=1))
    assert not passes(GroupsInOrder(), group_received("a-1"), group_received("a-2", at=29))


def test_message_of_a_group_is_sent_once() -> None:
    again = GroupReceived("g", [("a-1", "another id")], 30, 60)

    assert not passes(GroupsInOrder(), group_received("a-1"), again)


def batch_in_order(*keys: str) -> bytes:
    attributes = {"ApproximateReceiveCount": "1", "SequenceNumber": "1", "MessageGroupId": "g"}
    records = [{"messageId": f"id of {key}", "body": f'{{"key":"{key}"}}', "attributes": attributes} for key in keys]
    return dump_json({"Records": records}).encode()


def test_group_of_a_batch_is_held_until_it_is_settled() -> None:
    first, second = batch_in_order("a-1"), batch_in_order("a-2")
    done = Settled("node-1", attempt(payload=first), [])

    assert passes(GroupsInOrder(), took(payload=first), done, took(payload=second))
    assert passes(GroupsInOrder(), took(payload=first), took(payload=first, at=10_000))
    assert not passes(GroupsInOrder(), took(payload=first), took(payload=second))
    assert not passes(GroupsInOrder(), took(payload=second), done, took(payload=first, at=10_000))


def test_effects_of_a_group_come_in_its_order() -> None:
    seen = group_received("a-1", "a-2")

    assert passes(GroupsInOrder(), seen, Recorded("a-1"), Recorded("a-2"), Recorded("of no group"))
    assert not passes(GroupsInOrder(), seen, Recorded("a-2"), Recorded("a-1"))


def occurred(at: int, *, sent_at: int | None = None, message_id: str = "") -> Occurred:
    return Occurred("tick", format_instant(at), message_id or str(at), at if sent_at is None else sent_at)


def planned(expression: str) -> ScheduledInstants:
    return ScheduledInstants([Planned("tick", expression, "UTC", 0, 3 * HOUR_MS)])


HOURLY = "cron(0 * * * ? *)"


def test_schedule_fires_at_each_of_its_instants() -> None:
    assert passes(planned(HOURLY), occurred(HOUR_MS), occurred(2 * HOUR_MS))
    assert not passes(planned(HOURLY), occurred(HOUR_MS))


def test_schedule_fires_at_no_other_instant() -> None:
    others = (0, HOUR_MS + MINUTE_MS, 3 * HOUR_MS)

    for at in others:
        assert not passes(planned(HOURLY), occurred(HOUR_MS), occurred(2 * HOUR_MS), occurred(at))


def test_schedule_fires_once_for_each_instant() -> None:
    again = occurred(HOUR_MS, message_id="another")

    assert not passes(planned(HOURLY), occurred(HOUR_MS), again, occurred(2 * HOUR_MS))


@pytest.mark.parametrize(("sent_at", "is_excused"), [(2 * HOUR_MS, True), (2 * HOUR_MS - 1, False)])
def test_rate_leaves_out_only_what_it_is_behind_by_whole_intervals(sent_at: int, is_excused: bool) -> None:
    history = [occurred(0), occurred(2 * HOUR_MS, sent_at=sent_at)]

    assert passes(planned("rate(1 hour)"), *history) is is_excused
