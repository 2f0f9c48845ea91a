"""The options of a proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redrive.packaging.kept import NOTHING_KEPT, Kept
from redrive.prove.calls.given import NOTHING_GIVEN, Given
from redrive.prove.judge.judge import Invariant
from redrive.prove.search.baseline import Accepted
from redrive.prove.search.choice import EVERYTHING, Choice
from redrive.prove.stage.trigger import Kind

FAULTS_DEFAULT = 3
FAULTS_OF_SYSTEMS = 2


@dataclass(frozen=True, slots=True)
class Options:
    """What to prove, and how far to search.

    `function` is the logical id of one of the template's functions; empty if there is only one, or the handler tells.
    `variables` are environment variables of the handler, and `defaults` such that hold where nobody else sets them.
    `event_type` is the kind of AWS's own event to make a sample of; `rule` the logical id of a rule of the template.
    `told_events` is called with the events before the first run. `trigger` is what feeds the handler; None takes it
    from the template, or a queue. `bodies` are the messages or events; None takes them from the template's schedule or
    rule, or a sample. `effects` and `ignored` are patterns of calls, as in `dynamodb:PutItem:reports*`, or
    `dynamodb:UpdateItem:reports#attempts` for an ignored attribute. `ledgers` are the tables that are the handler's
    memory; if empty, the proof finds them. `given` are answers to requests over HTTP.
    """

    faults: int = FAULTS_DEFAULT
    seed: int = 0
    trigger: Kind | None = None
    event_type: str | None = None
    rule: str | None = None
    told_events: Callable[[Sequence[str]], None] = lambda _: None
    bodies: tuple[str, ...] | None = None
    template: Path | None = None
    function: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    effects: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ledgers: tuple[str, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    stable_results: bool = False
    given: Given = NOTHING_GIVEN
    is_system: bool = False
    """Whether all functions of the template are proved together."""
    entrance: str | None = None
    """In a system: by which resource the event comes in."""
    choice: Choice = EVERYTHING
    """Which faults are tried."""
    label: str = ""
    """What the function is called in its project, if that is neither its logical id nor the handler."""
    jobs: int = 1
    """How many processes search. What they find and count does not depend on it."""
    concurrent: int = 1
    """How many different messages are worked on at once: 1 or 2."""
    warm: bool = True
    """Whether runs in environments that were used before are searched."""
    kept: Kept = NOTHING_KEPT
    """Where what follows from the template alone is kept."""
    accepted: tuple[Accepted, ...] = ()
    """Findings that somebody has accepted, of any handler."""


DEFAULTS = Options()
