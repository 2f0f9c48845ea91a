"""Answers that are kept come back as they were."""

from __future__ import annotations

import pytest

from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult
from redrive.delivery.outside.invocation import FunctionCode, Invocation, InvocationResult, InvocationStatus, LogLine
from redrive.delivery.outside.kept import due_answers, keep_answer
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import OUTSIDE, Delivery
from redrive.testing.world import World

SCOPE = Scope("000000000000", "us-east-1")
RUN = Invocation(
    "request", "arn", "f", "$LATEST", "1", FunctionCode("d", "h", "r"), b"", 3_000, 128, "role", "logs", {"A": "b"}, 2
)
RAN = InvocationResult(
    InvocationStatus.FUNCTION_ERROR, b"\xff{}", (LogLine(5, "line"),), "stream", 1.5, None, 64, "no reason"
)
CALL = HttpCall("http://127.0.0.1/", "PUT", (("A", "b"),), b"", 10, 20)
CALLED = HttpResult(HttpEnding.ANSWERED, 200, (("a", "b"),), b"\x00\xff", is_cut=True)


@pytest.mark.parametrize(("errand", "result"), [(RUN, RAN), (CALL, CALLED)])
def test_kept_answer_comes_back_as_it_was(errand: Errand, result: Result) -> None:
    world = World(seed=1)
    promise = Delivery("a/b", SCOPE, "s", "arn:s", "arn:t", {}, RetryPolicy(), OUTSIDE, world.now, world.now)

    def keep(tx: Transaction) -> None:
        tx.deliveries.put(promise)
        (claimed,) = tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=1, limit=1)
        keep_answer(tx, claimed, errand, result, until=tx.now)
        tx.resources.forget()

    world.store.run(keep)

    ((delivery, kept_errand, kept_result),) = world.store.run(due_answers)
    assert delivery.id == promise.id
    assert _comparable(kept_errand) == _comparable(errand)
    assert _comparable(kept_result) == _comparable(result)


def test_timer_of_an_answer_that_nobody_waits_for_goes_away() -> None:
    world = World(seed=1)
    world.store.run(lambda tx: tx.timers.set("kept", f"{SCOPE}/gone", tx.now))

    assert world.store.run(due_answers) == []
    assert world.store.run(lambda tx: tx.timers.next("kept")) is None


def _comparable(part: object) -> str:
    """JSON has no tuples: pairs come back as lists."""
    return repr(part).replace("[", "(").replace("]", ")")
