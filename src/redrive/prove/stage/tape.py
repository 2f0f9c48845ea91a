"""The engine's answers on a leg, so that a leg with the same beginning need not ask the engine again.

A run behaves the same as long as its answers are the same. A fault at the fifth call leaves the four calls before it
unchanged, so the tape of the leg without that fault answers them; from the mark on, the engine continues from the state
that it had there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.prove.effects.journal import Trace
from redrive.prove.stage.contents import World
from redrive.prove.stage.question import Question

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Saved:
    """The state of a stage at an instant.

    `serial` counts the legs that have begun at that instant; `asked`, how often each kind of question was asked on the
    leg: what is made later, such as a table that a handler needs, must not get the ids of what is there. `others` are
    the other parts of the world.
    """

    world: World
    now: Instant
    serial: int
    asked: Mapping[object, int]
    others: tuple[object, ...] = ()


@dataclass(slots=True)
class Answered(Generic[T_co]):
    """One question to the engine, and its answer."""

    question: Question
    answer: T_co | ServiceError

    @classmethod
    def of(cls, question: Question, ask: Callable[[], T_co]) -> Answered[T_co]:
        """Ask, and keep the answer or the refusal."""
        try:
            return cls(question, ask())
        except ServiceError as error:
            return cls(question, error.with_traceback(None))

    def given(self) -> T_co:
        """The answer. Errors: ServiceError if the engine refused, without the frames of where it was given before."""
        if isinstance(self.answer, ServiceError):
            raise self.answer.with_traceback(None)
        return self.answer


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on a tape, right before or right after a call of the handler, and the state there."""

    index: int
    is_after: bool
    position: int
    saved: Saved
    traces: frozenset[Trace]


@dataclass(slots=True)
class Tape:
    """The answers of a leg in order, and its marks: by the index of their call, and whether they are after it."""

    answers: list[Answered[object]] = field(default_factory=list)
    marks: dict[tuple[int, bool], Mark] = field(default_factory=dict)
    latest: Mark | None = None


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a leg that was played up to a mark already."""

    answers: Sequence[Answered[object]]
    mark: Mark


class Known(BaseException):
    """From here on the leg equals another one that was played before.

    Not an Exception, so that the handler does not catch it.
    """


class Strayed(BaseException):
    """The handler asks another question than before: it behaves differently from run to run.

    Not an Exception, so that the handler does not catch it.
    """
