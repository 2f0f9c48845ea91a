"""Says of each letter that comes what to do with it, by the journal, the plan and the gates; it sends nothing.

The order of the questions is the safety of a run: first what the journal knows, then what the user wants, then where
the letter goes, and the gates last, because they cost the most.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import SECOND_MS, Instant
from redrive.deadletters.causes import cause_of
from redrive.deadletters.contents import is_elsewhere
from redrive.deadletters.destinations import Destination, Nowhere, SourcesOf, To, usual
from redrive.deadletters.gates import Gate, Refusal
from redrive.deadletters.journal import Doubt, Journal, Known
from redrive.deadletters.letter import Letter
from redrive.deadletters.plan import Action, Plan, Rule
from redrive.deadletters.sending import Sender

Refined = Callable[[Letter], Letter]


def as_it_is(letter: Letter) -> Letter:
    """A letter without what logs tell."""
    return letter


@dataclass(frozen=True, slots=True)
class Stays:
    """The letter stays in the queue."""

    reason: str
    by: Because


class Because(enum.Enum):
    """Why a letter stays, for the account."""

    PLAN = "plan"
    GATE = "gate"
    DOUBT = "doubt"
    RETURN = "return"


class Deletes(enum.Enum):
    """The letter is deleted: an earlier run has sent or discarded it."""

    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Discards:
    """The letter is exported and deleted."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class Sends:
    """The letter is sent. `overridden` is the gate that refused it."""

    rule: Rule
    to: Destination
    text: str
    """Empty if the work is fetched when it is sent: it may be large."""
    overridden: str = ""


Decision = Stays | Deletes | Discards | Sends


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user says to one run beside the plan."""

    override: str = ""
    """Why letters are sent that a gate refuses; empty: they stay."""
    resend_doubtful: bool = False
    """Send letters again that may have been accepted already."""
    stage: int = 0
    """The stage of a recovery: it sends letters again that earlier stages have sent, and that have failed again."""
    remediate: bool = False
    """Do the repairs of the plan first."""
    discard_done: bool = False
    """Discard letters whose work is known to be done."""


class Sorter:
    """Decides what is done with letters."""

    def __init__(
        self, plan: Plan, journal: Journal, sender: Sender, gates: Sequence[Gate], sources: SourcesOf, wishes: Wishes,
        now: Instant, refined: Refined = as_it_is,
    ) -> None:  # fmt: skip
        """`refined` gives a letter the error that logs tell, if the plan was made with logs."""
        self._refined = refined
        self._resendable = journal.begin_stage(wishes.stage, now) if wishes.stage else frozenset[str]()
        self._plan = plan
        self._rules = {rule.cause: rule for rule in plan.rules}
        self._journal = journal
        self._sender = sender
        self._gates = gates
        self._sources = sources
        self._wishes = wishes

    def decide(self, letter: Letter, now: Instant) -> Decision:
        """What to do with a letter. Errors: ClientError."""
        known = self._journal.known(letter.message_id)
        if known in {Known.SENT, Known.DISCARDED}:
            return Deletes.FINISHED
        came_from = self._journal.came_from(letter.message_id, letter.work.id)
        if came_from is not None and came_from not in self._resendable:
            return Stays("it was sent, and has failed again", Because.RETURN)
        letter = self._refined(letter)
        rule = self._rules.get(cause_of(letter))
        doubt = self._journal.doubts.get(letter.message_id)
        if rule is None or rule.action is not Action.REDRIVE:
            return self._not_sent(rule, doubt)
        age_s = self._plan.stop.age_s
        if age_s is not None and letter.sent_at is not None and now - letter.sent_at > age_s * SECOND_MS:
            return Stays(f"it is older than {age_s} s", Because.PLAN)
        return self._way(letter, rule, doubt, now)

    def _not_sent(self, rule: Rule | None, doubt: Doubt | None) -> Decision:
        if doubt is not None:
            return _doubtful(doubt)
        if rule is None:
            return Stays("no group of the plan has its cause", Because.PLAN)
        return Discards(rule) if rule.action is Action.DISCARD else Stays("the plan leaves it", Because.PLAN)

    def _way(self, letter: Letter, rule: Rule, doubt: Doubt | None, now: Instant) -> Decision:
        if letter.work.is_cut:
            return Stays("the end of its work was cut off", Because.PLAN)
        to = rule.to or usual(letter, self._sources)
        if isinstance(to, Nowhere):
            return Stays(to.reason, Because.PLAN)
        if rule.patch and to.kind is To.EXECUTION:
            return Stays("RedriveExecution keeps the input: send edited letters `to` stateMachine:ARN", Because.PLAN)
        if doubt is not None and not self._may_repeat(doubt, to, now):
            return _doubtful(doubt)
        try:
            text = "" if is_elsewhere(letter, to) else rule.text_of(letter)
        except ValueError as error:
            return Stays(str(error), Because.PLAN)
        # Gates are asked about what would be sent.
        patched = replace(letter, work=replace(letter.work, text=text)) if rule.patch and text else letter
        refusal = self._refusal(patched, to)
        if refusal is None:
            return Sends(rule, to, text)
        if refusal.is_done and self._wishes.discard_done:
            return Discards(replace(rule, reason=f"{refusal.gate}: {refusal.reason}"))
        if self._wishes.override:
            return Sends(rule, to, text, refusal.gate)
        return Stays(f"{refusal.gate}: {refusal.reason}", Because.GATE)

    def _may_repeat(self, doubt: Doubt, to: Destination, now: Instant) -> bool:
        """Whether a request may be made again: its destination takes both for one, or the user wants it."""
        if self._wishes.resend_doubtful:
            return True
        return doubt.to == to.text and now - doubt.at < self._sender.repeatable_ms(to)

    def _refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        for gate in self._gates:
            try:
                refusal = gate.refusal(letter, to)
            except (ClientError, BotoCoreError) as error:
                return Refusal(type(gate).__name__, f"it could not be asked: {error}")
            if refusal is not None:
                return refusal
        return None


def _doubtful(doubt: Doubt) -> Stays:
    return Stays(f"whether it was accepted by {doubt.to} is not known", Because.DOUBT)
