"""What the ledger and the metrics say of first letters stops the rest of their group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import MINUTE_MS
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.letter import Letter
from redrive.deadletters.memories import FAILED
from redrive.deadletters.watching import FirstLetters
from redrive.testing.world import World
from tests.unit.deadletters.killing import FUNCTION, Life, Parts, Stage, mixed_stage
from tests.unit.deadletters.makers import of_queue

LETTER = of_queue("{}")
TO = Destination(To.FUNCTION, FUNCTION)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with mixed_stage() as stage:
        yield stage


class Remembered:
    """A ledger that says one thing, until it says another."""

    def __init__(self, *findings: Finding) -> None:
        self._findings = iter(findings)

    def findings(self, letters: Sequence[Letter]) -> list[list[Finding]]:
        return [[next(self._findings)] for _ in letters]


OLD = Finding("ledger", Answer.GO, FAILED, "no", 5)


@pytest.mark.parametrize(
    ("before", "after", "is_bad"),
    [
        (OLD, Finding("ledger", Answer.GO, FAILED, "no", 9), True),
        (OLD, OLD, False),
        (OLD, Finding("ledger", Answer.SKIP, "it has succeeded: a redrive would do nothing"), False),
        (Finding("ledger", Answer.GO, "never begun"), OLD, True),
    ],
)
def test_first_letter_that_has_failed_again_by_the_ledger_is_bad_news(
    stage: Stage, before: Finding, after: Finding, is_bad: bool
) -> None:
    first = FirstLetters(stage.world.client, stage.world.clock.now, Remembered(before, after))

    first.begin(LETTER)
    told = first.bad_news([(LETTER, Destination(To.TOPIC, "t"))], stage.world.now)

    assert ("has failed again" in told) is is_bad


def invoked(world: World, fails: int, works: int) -> None:
    functions = world.client("lambda")
    for event in [b"{}"] * fails + [b'{"name": "a"}'] * works:
        functions.invoke(FunctionName="worker", Payload=event)


@pytest.mark.parametrize(("fails", "works", "is_bad"), [(1, 0, True), (2, 2, True), (1, 3, False), (0, 3, False)])
def test_function_of_which_half_of_the_invocations_fail_is_bad_news(
    stage: Stage, fails: int, works: int, is_bad: bool
) -> None:
    since = stage.world.now
    invoked(stage.world, fails, works)
    stage.world.advance(minutes=2)

    told = FirstLetters(stage.world.client, stage.world.clock.now).bad_news([(LETTER, TO)], since)

    assert bool(told) is is_bad
    if is_bad:
        assert told == f"{fails} of {fails + works} invocations of worker have failed since the first letters"


def test_failures_before_the_first_letters_count_nothing(stage: Stage) -> None:
    invoked(stage.world, 3, 0)
    stage.world.advance(minutes=5)

    assert FirstLetters(stage.world.client, stage.world.clock.now).bad_news([(LETTER, TO)], stage.world.now) == ""


def test_metrics_that_may_not_be_read_say_nothing(stage: Stage) -> None:
    class Denied:
        def get_metric_statistics(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetMetricStatistics")

    def client(service: str) -> Any:
        return Denied() if service == "cloudwatch" else stage.world.client(service)

    assert FirstLetters(client, stage.world.clock.now).bad_news([(LETTER, TO)], stage.world.now) == ""


def test_group_stops_at_the_end_of_its_watch_when_there_is_bad_news(stage: Stage) -> None:
    class Bad(FirstLetters):
        asked = 0

        def bad_news(self, letters: Sequence[tuple[Letter, Destination]], since: int) -> str:
            self.asked += 1
            assert all(MINUTE_MS > stage.world.now - since >= 4_000 for _ in letters)
            return "it is on fire"

    first = Bad(stage.world.client, stage.world.clock.now)
    stage.watch = first

    account = stage.run(Parts(), Life())

    assert account is not None
    assert (account.sent, account.stays["it is on fire"], first.asked) == (5, 16, 5)
