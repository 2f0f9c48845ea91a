"""What the legs, the runs and the calls of a performance share: they interrupt each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.core.errors import Bug
from redrive.prove.calls.calls import Call
from redrive.prove.effects.journal import Journal
from redrive.prove.play.environments import Environments
from redrive.prove.play.events import Event
from redrive.prove.play.faults import REDRIVES_MAX, Leg
from redrive.prove.play.running import Run
from redrive.prove.play.sql import Sql
from redrive.prove.play.strikes import Strikes
from redrive.prove.play.web import Web
from redrive.prove.process.files import Files
from redrive.prove.process.subject import Subject
from redrive.prove.process.surroundings import Surroundings
from redrive.prove.process.threads import Threads
from redrive.prove.stage.messages import Messages
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.trigger import Trigger

RUNS_MAX = 100
"""A history has at most this many runs more than its queue allows a message; after that it counts as endless."""

_TOLD_CHARS_MAX = 80


class Endless(BaseException):
    """A history has had more runs than it can need. Not an Exception, so that the handler does not catch it."""


@dataclass(slots=True)
class State:
    """The state of a performance between and within its legs."""

    stage: Stage
    journal: Journal
    surroundings: Surroundings
    threads: Threads
    web: Web
    files: Files
    sql: Sql
    read_json: Callable[[], Document]
    """What the handler reads of JSON in answers that nobody has given."""
    environments: Environments
    improvised: Improvised | None
    main: Subject | None
    """The handler under proof, which runs for the trigger's function."""
    others: Mapping[str, Subject] = field(default_factory=dict)
    """The handlers of other functions, by the names of the functions."""
    sent_by: Trigger | None = None
    sent: Messages | None = None
    events: list[Event] = field(default_factory=list)
    running: list[Run] = field(default_factory=list)
    """The runs under way: a run, and the runs that overlap it."""
    strikes: Strikes = field(default_factory=lambda: Strikes(Leg()))
    runs: int = 0
    outage: str = ""
    is_marked: bool = False
    is_over: bool = False
    """Whether the rest of the leg is known."""
    escape: BaseException | None = None
    """The exception that ends the leg."""
    after_call: Callable[[], None] = lambda: None
    is_known: Callable[[], bool] = lambda: False
    """Called after each call once no fault is left to strike: whether the rest of the leg can be skipped."""
    goes_on: Callable[[Call], bool] = lambda _: False
    """Whether what a call sends reaches another function under the same proof."""
    held: tuple[int, ...] = ()
    """The numbers of messages that are not sent yet: another message comes later than the first, or meanwhile."""
    failed_at: tuple[str, ...] = ()
    """The lines of the user's code in the traceback of the last run that failed."""

    @property
    def subject(self) -> Subject:
        """The handler under proof."""
        if self.main is None:
            raise Bug("a performance without a handler")
        return self.main

    @property
    def trigger(self) -> Trigger:
        """The trigger of the handler."""
        if self.sent_by is None:
            raise Bug("a performance without a trigger")
        return self.sent_by

    @property
    def messages(self) -> Messages:
        """The messages of the trigger."""
        if self.sent is None:
            raise Bug("a performance without a trigger")
        return self.sent

    def send_held(self) -> None:
        """Send the next message that was held back."""
        number, *left = self.held
        self.held = tuple(left)
        self.messages.send(number)

    @property
    def told_held(self) -> str:
        """The next message that was held back, for the user."""
        text = self.trigger.work_texts[self.held[0]]
        return f"another {self.trigger.noun} comes, not the same: {text[:_TOLD_CHARS_MAX]}"

    @property
    def runs_max(self) -> int:
        """The most runs of a history; a redriven message may come as often again."""
        return RUNS_MAX + self.trigger.receives_max * (1 + REDRIVES_MAX)

    def subject_of(self, function_name: str) -> Subject | None:
        """The handler of a function; None if the function does nothing here."""
        if self.sent_by is not None and function_name == self.sent_by.function_name:
            return self.subject
        return self.others.get(function_name)
