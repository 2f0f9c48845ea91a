"""The actions of an alarm: one delivery for each, promised in the transaction that changes the alarm's state."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.upkeep.worker import will_age
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.calls import action_kind
from redrive.services.cloudwatch.model.alarm import SOURCE, Alarm, AlarmState, Suppression
from redrive.services.cloudwatch.model.history import acted, withheld
from redrive.services.cloudwatch.model.mute_rule import MuteRule
from redrive.services.cloudwatch.model.told import message_of, payload_of, subject_of
from redrive.store.api import Transaction
from redrive.store.tables.alarm_history import HistoryItem
from redrive.store.tables.deliveries import INSIDE, Delivery

HISTORY_RETENTION = "cloudwatch.history.retention"
"""The kind of the timer of the sweep of old items."""

POLICY = RetryPolicy()
"""AWS publishes no retries of actions. Topics and functions accept in the same store; a throttle is tried again."""


def keep_item(tx: Transaction, scope: Scope, item: HistoryItem) -> None:
    """Store an item of history, and let it age."""
    tx.alarm_history.put(str(scope), item)
    will_age(tx, HISTORY_RETENTION, item.at + limits.HISTORY_KEPT_MS)


def act(
    tx: Transaction, scope: Scope, alarm: Alarm, previous: AlarmState, before: Suppression | None = None, *,
    after_mute: bool = False,
) -> None:  # fmt: skip
    """Promise the actions of the state that an alarm is in. `previous` is the state before."""
    if not alarm.is_enabled:
        return
    for arn in alarm.actions:
        kind = action_kind(arn)
        if kind is None:
            _refuse(tx, scope, alarm, arn)
            continue
        document: Document = {
            "kind": kind, "alarm": alarm.name, "type": alarm.type.value, "at": alarm.state.transitioned_at,
        }  # fmt: skip
        if kind == "sns":
            document["subject"] = subject_of(alarm, scope)
            document["text"] = message_of(alarm, previous, scope, after_mute=after_mute)
        else:
            document["text"] = payload_of(alarm, previous, before, scope, tx.now)
        tx.deliveries.put(
            Delivery(
                id=new_row_id(tx.entropy, tx.now), scope=scope, source=SOURCE, source_arn=alarm.arn(scope),
                target_arn=arn, document=document, policy=POLICY, place=INSIDE, due_at=tx.now, first_at=tx.now,
            )
        )  # fmt: skip
        tx.notify("due")


def withhold(tx: Transaction, scope: Scope, alarm: Alarm, why: str) -> None:
    """Record that the actions of an alarm are kept back."""
    if alarm.is_enabled and alarm.actions:
        keep_item(tx, scope, withheld(alarm, new_row_id(tx.entropy, tx.now), tx.now, why))


def muted_by(tx: Transaction, scope: Scope, alarm_name: str, now: Instant, *, but: str = "") -> MuteRule | None:
    """The mute rule that mutes an alarm now; None if none does. `but`: a rule that does not count."""
    for rule in tx.resources.list(MuteRule, scope):
        if rule.name != but and alarm_name in rule.alarm_names and rule.window_at(now) is not None:
            return rule
    return None


def _refuse(tx: Transaction, scope: Scope, alarm: Alarm, arn: str) -> None:
    """Record an action that redrive does not perform: of Auto Scaling, EC2, Systems Manager, investigations."""
    item = acted(
        alarm.name, alarm.type.value, scope, arn, item_id=new_row_id(tx.entropy, tx.now), now=tx.now,
        transitioned_at=alarm.state.transitioned_at, error="redrive performs no actions of this service",
    )  # fmt: skip
    keep_item(tx, scope, item)
