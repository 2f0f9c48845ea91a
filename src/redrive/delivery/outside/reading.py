"""Reading much of the store as an errand: in many short transactions, with the computing between them.

A search of a million log events takes seconds. In one transaction everybody else would wait for it; as an errand it
runs beside them, and only each page of rows is read in a transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from redrive.core.clock import HOUR_MS
from redrive.store.api import Step

T = TypeVar("T")


class RunStep(Protocol):
    """Runs a step in a transaction of its own, and returns after its commit."""

    def __call__(self, step: Step[T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """Work that reads by short steps. `perform` gives what its worker settles with; it may run twice."""

    perform: Callable[[RunStep], object]
    timeout_ms: int = HOUR_MS


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """What a reading gave."""

    found: object
