"""The rules on a schedule: fires what is due."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.entropy import new_row_id
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.core.scope import Scope
from redrive.delivery.history.records import LeftOut, record_left_out
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.events.model.event import Event, envelope
from redrive.services.events.model.rule import SOURCE, Rule
from redrive.services.events.model.schedules import planned, skipped
from redrive.services.events.publish import trigger
from redrive.services.events.timers import RULE_TIMER, scope_and_name, set_timer
from redrive.store.api import Transaction


class RuleScheduleWorker:
    """Sends a scheduled event to the targets of each due rule, once for each instant of its schedule.

    After an outage a rule fires once, and then goes on: AWS does not catch up either. What it has left out is a record
    for each of its targets.
    """

    name = "rule schedules"
    timer = RULE_TIMER
    upkeep = False

    def __init__(self, *, per_claim: int = PRODUCTION.occurrences_per_claim) -> None:
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        """Return when the next rule is due."""
        return tx.timers.next(RULE_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        """Fire the due rules, and set their timers for the next time."""
        for timer, _ in tx.timers.due(RULE_TIMER, tx.now, self._per_claim):
            scope, name = scope_and_name(timer)
            rule = tx.resources.get(Rule, scope, name)
            if rule is None or rule.next_at is None:
                tx.timers.clear(RULE_TIMER, timer)
                continue
            trigger(tx, scope, rule, _scheduled_event(tx, scope, rule, rule.next_at))
            _record_skipped(tx, scope, rule)
            moved = planned(rule, tx.now)
            tx.resources.put(scope, moved)
            set_timer(tx, scope, moved)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        """Never called, because no attempt leaves the store. Errors: Bug."""
        raise Bug(f"{self.name} attempts nothing outside")


def _record_skipped(tx: Transaction, scope: Scope, rule: Rule) -> None:
    """Record what was due while nothing ran: one record for each target, of all instants together."""
    missed = skipped(rule, tx.now)
    if missed is None:
        return
    event_id = new_row_id(tx.entropy, tx.now)
    for target in rule.targets:
        left_out = LeftOut(
            f"{event_id}/{rule.rule_name}/{target['Id']}", event_id, rule.arn(scope), target["Arn"], scope, SOURCE,
            missed.count, missed.first_at, missed.last_at, "nothing ran when they were due",
        )  # fmt: skip
        record_left_out(tx, left_out)


def _scheduled_event(tx: Transaction, scope: Scope, rule: Rule, at: Instant) -> Event:
    event_id = new_row_id(tx.entropy, tx.now)
    document = envelope(
        id=event_id, detail_type="Scheduled Event", source="aws.events", scope=scope, at=at,
        resources=[rule.arn(scope)], detail={},
    )  # fmt: skip
    return Event(event_id, document)
