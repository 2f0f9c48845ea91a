"""The timers of rules with a schedule: a timer is set where the rule has a next instant."""

from __future__ import annotations

from redrive.core.scope import Scope
from redrive.services.events.model.rule import Rule
from redrive.store.api import Transaction

RULE_TIMER = "events.rule"


def set_timer(tx: Transaction, scope: Scope, rule: Rule) -> None:
    """Set or clear the timer of a rule, as the rule says."""
    name = f"{scope}/{rule.name}"
    if rule.next_at is None:
        tx.timers.clear(RULE_TIMER, name)
    else:
        tx.timers.set(RULE_TIMER, name, rule.next_at)
        tx.notify("due")


def scope_and_name(timer: str) -> tuple[Scope, str]:
    """Split a timer's name into the scope and the name of its rule."""
    account, region, name = timer.split("/", 2)
    return Scope(account, region), name
