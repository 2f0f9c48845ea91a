"""Any interleaving of runs on any ledger does what a model of a dozen lines says.

The model knows one execution, keeps no history, and shares no code with the ledgers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.handler import (
    DynamoDBLedger,
    Foreign,
    Fresh,
    InProgress,
    Ledger,
    MemoryLedger,
    Mismatch,
    Replayed,
    SqliteLedger,
)
from redrive.handler.ledger import EffectRecord, Token
from redrive.testing.world import World
from tests.unit.handler.conftest import LEDGERS, START, TABLE, HandClock, create_table, empty_postgres

LEASE_S, KEEP_S = 10, 40
# Most are one function's, so that runs meet; the Lambda functions a and b both have one called f.
FUNCTIONS = [None, "f", "f", "a:f", "a:f", "b:f", "g"]
AGREEING: list[set[str]] = [{"f"}, {"a:f"}, {"b:f"}, {"g"}, {"f", "a:f"}, {"f", "b:f"}]


@dataclass
class Model:
    """One execution: who began last, how that ended, until when, and what was done."""

    runs: int = 0
    holder: int = -1
    state: str = "absent"
    lease_ends: int = 0
    expires: int = 0
    payload: str | None = None
    function: str | None = None
    result: int | None = None
    duplicates: int = 0

    def begin(self, run: int, payload: str | None, function: str | None, now: int) -> str:
        if self.state == "absent" or now >= self.expires:
            self.runs, self.payload, self.function, self.duplicates, self.result = 0, None, None, 0, None
        else:
            refusal = self.refusal(payload, function, now)
            if refusal:
                self.duplicates += 1
                return refusal
        self.runs += 1
        self.holder, self.state = run, "running"
        self.lease_ends, self.expires = now + LEASE_S * 1000, now + KEEP_S * 1000
        self.payload = payload or self.payload
        self.function = self.function or function
        return f"fresh {self.runs}"

    def refusal(self, payload: str | None, function: str | None, now: int) -> str:
        if function and self.function and {function, self.function} not in AGREEING:
            return "foreign"
        if payload and self.payload and payload != self.payload:
            return "mismatch"
        if self.state == "done":
            return f"replayed {self.result}"
        return f"until {self.lease_ends}" if self.state == "running" and now < self.lease_ends else ""

    def end(self, run: int, state: str) -> bool:
        if run != self.holder:
            return False
        if self.state == "running":
            self.state = state
            self.result = run if state == "done" else None
        return self.state == state


def spoken(answer: object) -> str:
    match answer:
        case Fresh(token):
            return f"fresh {token.attempt}"
        case Replayed(result):
            return f"replayed {result}"
        case InProgress(until):
            return f"until {until}"
        case Mismatch():
            return "mismatch"
        case Foreign():
            return "foreign"
    raise AssertionError(answer)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.tuples(st.sampled_from([None, "p", "q"]), st.sampled_from(FUNCTIONS))),
        st.tuples(st.sampled_from(["finish", "fail", "effect"]), st.integers(0, 4)),
        st.tuples(st.just("advance"), st.sampled_from([1, 3, LEASE_S, KEEP_S])),
    ),
    max_size=25,
)


@cache
def dynamodb_client():
    """One table for all examples, each of which has a key of its own."""
    world = World()
    create_table(world)
    return world.client("dynamodb")


@contextmanager
def ledger_of(kind: str, clock: HandClock, request: pytest.FixtureRequest) -> Iterator[Ledger]:
    match kind:
        case "memory":
            yield MemoryLedger(clock=clock)
        case "dynamodb":
            yield DynamoDBLedger(TABLE, client=dynamodb_client(), clock=clock)
        case "postgres":
            with closing(empty_postgres(request.getfixturevalue("ledgers_url"), clock)) as postgres:
                yield postgres
        case _:
            with closing(SqliteLedger(":memory:", clock=clock)) as sqlite:
                yield sqlite


KEYS = count()


@pytest.mark.parametrize("kind", LEDGERS)
@settings(max_examples=30)
@given(steps=STEPS)
def test_ledger_does_what_the_model_says_under_any_interleaving(
    kind: str, request: pytest.FixtureRequest, steps: list[tuple[str, Any]]
) -> None:
    """Runs begin, end late, end twice and are overtaken in any order; only the last to begin may say how it ended."""
    clock, model, key = HandClock(), Model(), f"execution-{next(KEYS)}"
    with ledger_of(kind, clock, request) as ledger:
        follow(steps, ledger, clock, model, key)


def follow(steps: list[tuple[str, Any]], ledger: Ledger, clock: HandClock, model: Model, key: str) -> None:
    tokens: list[Token] = []
    for step, value in steps:
        match step, value:
            case "begin", (payload, function):
                answer = ledger.begin(key, payload, LEASE_S, keep_s=KEEP_S, function_name=function)
                assert spoken(answer) == model.begin(len(tokens), payload, function, clock.now)
                if isinstance(answer, Fresh):
                    tokens.append(answer.token)
            case "advance", int(seconds):
                clock.advance(seconds)
            case _, int(back) if back < len(tokens):
                run = len(tokens) - 1 - back
                assert end(ledger, step, run, tokens[run]) is expected(model, step, run)

    record = ledger.read(key)
    assert (record is None) == (model.state == "absent")
    if record is not None:
        assert (record.attempts_made, record.duplicates) == (model.runs, model.duplicates)
        assert {"running": "RUNNING", "done": "SUCCESS", "failed": "FAILED"}[model.state] == record.status


def end(ledger: Ledger, step: str, run: int, token: Token) -> bool:
    if step == "finish":
        return ledger.finish(token, run)
    if step == "fail":
        return ledger.fail(token, "failed")
    return ledger.note_effect(token, EffectRecord("mail", "key", START))


def expected(model: Model, step: str, run: int) -> bool:
    if step == "effect":
        return run == model.holder and model.state == "running"
    return model.end(run, "done" if step == "finish" else "failed")
