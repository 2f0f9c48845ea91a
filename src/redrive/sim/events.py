"""The events in a simulation's queue: beats of nodes, acts of users, strikes of hazards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from redrive.core.clock import Instant
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt
from redrive.sim.fleet.nodes import Node
from redrive.sim.weather import Hazard


@dataclass(frozen=True, slots=True)
class Poll:
    """The node claims due work."""

    node: Node
    life: int


@dataclass(frozen=True, slots=True)
class Begin:
    """The node performs an attempt. With `repeats`, it is a duplicate of an attempt and holds no slot."""

    node: Node
    life: int
    attempt: Attempt
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The node settles an attempt. `holds_slot` is True until the first try; a duplicate holds none."""

    node: Node
    life: int
    attempt: Attempt
    result: Result = field(repr=False)
    holds_slot: bool


Beat = Poll | Begin | Answer


class Actor(Protocol):
    """A user of the engine: acts, and says when to act next."""

    @property
    def name(self) -> str:
        """Unique among the users of a simulation."""
        ...

    def act(self) -> Instant | None:
        """Do the next action. Returns when to act again; None if all is done."""
        ...


@dataclass(frozen=True, slots=True)
class Act:
    """A user acts."""

    actor: Actor


@dataclass(frozen=True, slots=True)
class Strike:
    """A hazard strikes by itself."""

    fault: Hazard


Event = Beat | Act | Strike
