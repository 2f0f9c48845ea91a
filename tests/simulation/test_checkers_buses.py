"""The rules about buses can fail: each is given histories in which it holds, and one for each way of breaking it."""

from __future__ import annotations

import json

import pytest

from redrive.core.clock import MINUTE_MS
from redrive.languages.event_pattern import parse
from redrive.sim.checkers.bells import Bell, RuleInstants
from redrive.sim.checkers.buses import BusTargets, RuleRetries, RulesAndReplays
from redrive.sim.checkers.event_order import PublishedInOrder
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import (
    Arrived,
    Happening,
    LeftMessage,
    Lined,
    Published,
    Rang,
    ReplayStarted,
    RuleHistoryRead,
    RuleSet,
)
from redrive.sim.checkers.replays import PlayedReplay
from redrive.store.tables.attempts import AttemptRecord, RunState
from tests.simulation.test_checkers import passes

RULE = RuleSet("r", '{"source": ["shop"]}')
OTHER = RuleSet("r", '{"source": ["bank"]}')
OFF = RuleSet("r", "")
EVENT = Published("e", {"source": "shop", "detail-type": "t", "detail": {}}, 2_000)
HIT = Arrived("r", "e", "", "m-1")
HIT_AGAIN = Arrived("r", "e", "", "m-2")
REPLAY = ReplayStarted("again", "r", 1_000, 3_000)
EARLIER = ReplayStarted("again", "r", 0, 1_000)
REPLAYED = Arrived("r", "e", "again", "m-3")
REPLAYED_TWICE = Arrived("r", "e", "again", "m-4")


def left(queue: str, body: object, message_id: str = "m-1", **attributes: str) -> LeftMessage:
    return LeftMessage(queue, message_id, json.dumps(body), 0, "", attributes)


def letter(retries: int = 1) -> LeftMessage:
    arn = "arn:aws:events:us-east-1:000000000000:rule/shop/r"
    return left("letters", {"id": "e"}, "letter", RULE_ARN=arn, RETRY_ATTEMPTS=str(retries))


def oracle() -> RulesAndReplays:
    return RulesAndReplays(BusTargets(queues=["hits"], letters="letters"))


@pytest.mark.parametrize(
    "history",
    [
        [RULE, EVENT, HIT],
        [RULE, EVENT, HIT, HIT],
        [RULE, EVENT, OFF, HIT],
        [OFF, EVENT, RULE],
        [RULE, OTHER, EVENT],
        [OTHER, RULE, EVENT, HIT],
        [RULE, EVENT, HIT, REPLAY, REPLAYED],
        [RULE, EVENT, HIT, EARLIER],
        [RULE, REPLAY, EVENT, HIT],
    ],
)
def test_events_are_at_the_targets_of_the_rules_that_matched_them(history: list[Happening]) -> None:
    assert passes(oracle(), *history)


@pytest.mark.parametrize(
    "history",
    [
        [RULE, EVENT],
        [RULE, EVENT, HIT, HIT_AGAIN],
        [RULE, OTHER, EVENT, HIT],
        [OFF, EVENT, HIT],
        [RULE, EVENT, OFF],
        [RULE, EVENT, HIT, REPLAY],
        [RULE, EVENT, HIT, REPLAYED],
        [RULE, EVENT, HIT, REPLAY, REPLAYED, REPLAYED_TWICE],
        [RULE, EVENT, HIT, EARLIER, REPLAYED],
    ],
)
def test_an_event_lost_repeated_or_delivered_to_another_rule_is_found(history: list[Happening]) -> None:
    assert not passes(oracle(), *history)


def test_what_a_queue_still_holds_has_arrived() -> None:
    unread = left("hits", {"rule": "r", "event": {"id": "e"}})

    assert passes(oracle(), RULE, EVENT, remains=(unread,))
    assert passes(oracle(), RULE, EVENT, remains=(letter(),))
    assert not passes(oracle(), RULE, EVENT, remains=(unread, letter()))


ANYTHING = parse('{"source": [{"prefix": ""}]}')
NOTHING = parse('{"source": ["nobody"]}')
EARLY = Published("early", {"source": "shop", "detail-type": "t", "detail": {}}, 2_000)
LATE = Published("late", {"source": "shop", "detail-type": "t", "detail": {}}, 3 * MINUTE_MS)


def test_replay_must_send_what_each_pattern_of_its_rule_matches_and_may_send_what_one_matches() -> None:
    replay = PlayedReplay("r", [EARLY], [ANYTHING])
    assert replay.must_send(EARLY)

    replay.changes(NOTHING)

    assert not replay.must_send(EARLY)
    assert replay.may_send(EARLY)
    assert not PlayedReplay("r", [EARLY], [NOTHING, None]).may_send(EARLY)


def test_change_after_the_end_of_a_replay_does_not_matter() -> None:
    replay = PlayedReplay("r", [EARLY], [ANYTHING])
    replay.read("COMPLETED", 2_000)

    replay.changes(None)

    assert replay.must_send(EARLY)


def test_cancelled_replay_sends_the_minutes_up_to_where_it_stood() -> None:
    replay = PlayedReplay("r", [EARLY, LATE], [ANYTHING])
    replay.cancel()
    replay.read("CANCELLED", MINUTE_MS)

    assert replay.must_send(EARLY)
    assert not replay.may_send(LATE)


@pytest.mark.parametrize("then", [("CANCELLING", 2_000), ("COMPLETED", 1_000), ("RUNNING", 3_000)])
def test_cancelled_replay_that_goes_on_is_found(then: tuple[str, int]) -> None:
    replay = PlayedReplay("r", [EARLY], [ANYTHING])
    replay.cancel()
    replay.read("CANCELLING", 1_000)

    with pytest.raises(RuleBroken):
        replay.read(*then)


RULE_BELL = "bell"


def bells(*happenings: Happening, ended_at: int = 40 * MINUTE_MS) -> bool:
    bell = Bell(RULE_BELL, "rate(10 minutes)", 0, ended_at)
    return passes(RuleInstants([bell], disagreement_ms=1_000), *happenings)


def rang(minutes: int, event_id: str = "") -> Rang:
    return Rang(RULE_BELL, minutes * MINUTE_MS, event_id or f"e-{minutes}")


def attempted(minutes: int, at_minutes: float) -> RuleHistoryRead:
    at = round(at_minutes * MINUTE_MS)
    record = AttemptRecord(f"e-{minutes}/bell/bell", "arn", 1, at, RunState.DELIVERED)
    return RuleHistoryRead(RULE_BELL, [record])


IN_TIME = [happening for minutes in (10, 20, 30) for happening in (rang(minutes), attempted(minutes, minutes))]


def test_rule_on_a_schedule_fires_at_its_instants() -> None:
    assert bells(*IN_TIME)
    assert bells(*IN_TIME, rang(30))


def test_instants_that_pass_while_an_event_is_late_are_left_out() -> None:
    assert bells(rang(10), attempted(10, 25), rang(30), attempted(30, 30))
    assert not bells(rang(10), attempted(10, 10), rang(30), attempted(30, 30))
    assert not bells(rang(20), attempted(20, 20), rang(30), attempted(30, 30))


def test_rule_on_a_schedule_that_fires_twice_or_at_another_time_or_after_its_end_is_found() -> None:
    assert not bells(*IN_TIME, rang(30, "another"))
    assert not bells(*IN_TIME, rang(35), attempted(35, 35))
    assert not bells(*IN_TIME, rang(50), attempted(50, 50))


def test_fifo_queue_has_events_in_the_order_of_their_publication() -> None:
    first, second = Published("a", {}, 1, "b"), Published("b", {}, 1, "b")

    assert passes(PublishedInOrder("b"), first, second, Lined("b", 8), Lined("a", 7), Lined("a", 7))
    assert not passes(PublishedInOrder("b"), first, second, Lined("b", 7), Lined("a", 8))


def attempt(number: int, state: RunState, code: str = "InternalServerError") -> AttemptRecord:
    led_to = "letter" if state is RunState.DEAD_LETTERED else ""
    return AttemptRecord("e/r/t", "arn", number, number, state, code, led_to=led_to)


RETRY = attempt(1, RunState.RETRYING)
DEAD = attempt(2, RunState.DEAD_LETTERED)
DONE = attempt(2, RunState.DELIVERED, "")


def retries(*records: AttemptRecord, remains: tuple[LeftMessage, ...] = (), retries_max: int = 1) -> bool:
    checker = RuleRetries({"r": retries_max}, "letters", ["AccessDenied"])
    return passes(checker, RuleHistoryRead("r", records), remains=remains)


def test_a_delivery_is_retried_and_then_delivered_or_dead_lettered() -> None:
    assert retries(RETRY, DONE)
    assert retries(RETRY, DEAD, remains=(letter(1),))
    assert retries(attempt(1, RunState.DEAD_LETTERED, "AccessDenied"), remains=(letter(0),))


def test_a_delivery_given_up_too_early_too_late_or_never_is_found() -> None:
    assert not retries(attempt(1, RunState.DEAD_LETTERED), remains=(letter(0),))
    assert not retries(RETRY, DEAD, remains=(letter(1),), retries_max=0)
    assert not retries(RETRY)
    assert not retries(attempt(1, RunState.DELIVERED, ""), DONE)


def test_a_permanent_failure_that_is_retried_is_found() -> None:
    assert not retries(attempt(1, RunState.RETRYING, "AccessDenied"), DONE)


def test_attempt_outside_of_the_store_may_have_no_record() -> None:
    inside = RuleRetries({"r": 1}, "letters", [])
    outside = RuleRetries({"r": 1}, "letters", [], outside=["r"])

    assert not passes(inside, RuleHistoryRead("r", [attempt(2, RunState.DELIVERED, "")]))
    assert passes(outside, RuleHistoryRead("r", [attempt(2, RunState.DELIVERED, "")]))


def test_a_letter_that_is_missing_or_tells_other_retries_is_found() -> None:
    assert not retries(RETRY, DEAD)
    assert not retries(RETRY, DONE, remains=(letter(),))
    assert not retries(RETRY, DEAD, remains=(letter(2),))
