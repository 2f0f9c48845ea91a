"""The rules about buses can fail: each is given histories in which it holds, and one for each way of breaking it."""

from __future__ import annotations

import json

import pytest

from redrive.sim.checkers.buses import RuleRetries, RulesAndReplays
from redrive.sim.checkers.happenings import (
    Arrived,
    Happening,
    LeftMessage,
    Published,
    ReplayStarted,
    RuleHistoryRead,
    RuleSet,
)
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
    return RulesAndReplays("hits", "letters")


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


def test_a_letter_that_is_missing_or_tells_other_retries_is_found() -> None:
    assert not retries(RETRY, DEAD)
    assert not retries(RETRY, DONE, remains=(letter(),))
    assert not retries(RETRY, DEAD, remains=(letter(2),))
