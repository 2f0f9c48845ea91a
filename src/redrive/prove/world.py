"""The world of a proof before its first message, and performances in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3

from redrive.core.clock import Instant
from redrive.prove.effects.contents import Left
from redrive.prove.play.asked import ENDPOINT_URL
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short, Transport
from redrive.prove.process.subject import Subject
from redrive.prove.process.threads import Unordered
from redrive.prove.search.clean import ELSEWHERE_AFTER_MS, Clean, left_elsewhere
from redrive.prove.search.draws import Draws
from redrive.prove.search.search import Search
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.prove.stage.tape import Saved
from redrive.prove.stage.trigger import Trigger
from redrive.prove.tell.advice.advice import Advice, advice_for
from redrive.prove.tell.advice.case import Case


@dataclass(frozen=True, slots=True)
class World:
    """What is proved, before its message is sent: with its resources, declared or guessed.

    `performed` makes a performance with a seed; `told` says more of the clean run, for the verdict.
    """

    name: str
    trigger: Trigger
    saved: Saved
    assumptions: Mapping[str, str]
    seed: int
    elsewhere: Sequence[Left]
    draws: Draws
    """How it differs from draw to draw; the seed is that of one of them."""
    performed: Callable[[int], Performance]
    subject: Subject | None = None
    """The handler; None for a system, which has several."""
    roots: Sequence[Path] = ()
    """The folders of a system's code."""
    search: type[Search] = Search
    told: Callable[[Performance, Clean], Mapping[str, object]] = lambda _performance, _clean: {}
    advice: Callable[[Case, str], Advice] = advice_for


class EndedWorld:
    """The world at the end of a history, for the user's invariants."""

    def __init__(self, performance: Performance) -> None:
        self._performance = performance

    @property
    def now(self) -> Instant:
        """The virtual time, in milliseconds since the epoch."""
        return self._performance.stage.now

    def client(self, service: str) -> object:
        """A boto3 client of this world."""
        return boto3.client(
            service, region_name=SCOPE.region, endpoint_url=ENDPOINT_URL, aws_access_key_id=SCOPE.account,
            aws_secret_access_key=SCOPE.account,
        )  # fmt: skip


@contextmanager
def opened(world: World, transport: Callable[[Stage], Transport]) -> Iterator[Performance]:
    """A performance of that world after the message was sent."""
    with contextlib.closing(world.performed(world.seed)) as performance:
        performance.stage.load(world.saved)
        performance.begin(world.trigger)
        with performance.entered(transport(performance.stage)):
            yield performance


def left_in_another(
    performed: Callable[[int], Performance], trigger: Trigger, saved: Saved, seed: int
) -> Sequence[Left]:  # fmt: skip
    """What a clean run leaves behind on another day, with other ids, and with the messages in another order."""
    with contextlib.closing(performed(seed + 1)) as performance:
        performance.stage.load(saved)
        performance.stage.move_to(performance.stage.now + ELSEWHERE_AFTER_MS)
        performance.begin(trigger if trigger.is_ordered else trigger.reversed())
        with performance.entered(Short(performance.stage)):
            return left_elsewhere(performance)


@contextmanager
def unanswerable_told() -> Iterator[None]:
    """While entered, a handler whose order of calls nobody can know is refused as the user's error."""
    try:
        yield
    except Unordered as error:
        raise error.as_user_error() from None
