"""Alarms in the store: finding, configuring and deleting them, for all operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from redrive.core.documents import Document
from redrive.core.entropy import new_row_id, new_uuid
from redrive.core.errors import ServiceError
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller, Scope
from redrive.languages.alarm_rule import children_of, parse_rule
from redrive.languages.iam import request_tags, resource_tags
from redrive.services.cloudwatch.acting import keep_item
from redrive.services.cloudwatch.model.alarm import (
    ACTIONS,
    INITIAL_REASON,
    Alarm,
    AlarmState,
    AlarmType,
    Dependents,
    StateValue,
    alarm_arn,
    name_in,
)
from redrive.services.cloudwatch.model.history import configured
from redrive.services.cloudwatch.model.told import CONFIGURATION_CHANGE, EVENT_SOURCE, configuration_change
from redrive.services.cloudwatch.timers import end_watching
from redrive.services.cloudwatch.transitions import COMPOSITE_TIMER
from redrive.store.api import Transaction


def authorize_alarm(
    tx: Transaction, caller: Caller, operation: str, name: str, *, tags: Mapping[str, str] | None = None,
    settings: Document | None = None,
) -> Alarm | None:  # fmt: skip
    """Ask whether the caller may do something to an alarm; return the alarm, or None if there is none.

    Errors: AccessDenied.
    """
    alarm = tx.resources.get(Alarm, caller.scope, name)
    context = {} if alarm is None else dict(resource_tags(alarm.tags))
    if tags:
        context |= request_tags(tags)
    if settings is not None:
        named = [arn for member in ACTIONS.values() for arn in settings.get(member) or ()]
        context["cloudwatch:AlarmActions"] = tuple(named)
    arn = alarm_arn(caller.scope, name)
    tx.services.authorize(tx, caller, f"cloudwatch:{operation}", arn, context=context)
    return alarm


def existing_alarm(tx: Transaction, caller: Caller, operation: str, name: str) -> Alarm:
    """Return an alarm. Errors: AccessDenied; ResourceNotFound, whose message is empty on AWS."""
    alarm = authorize_alarm(tx, caller, operation, name)
    if alarm is None:
        raise ServiceError("ResourceNotFound", "")
    return alarm


def configure(
    tx: Transaction, scope: Scope, known: Alarm | None, name: str, type_: AlarmType, settings: Document,
    tags: Mapping[str, str],
) -> Alarm:  # fmt: skip
    """Store the configuration of an alarm, and tell of the change. A new alarm has INSUFFICIENT_DATA."""
    if known is None:
        initial = AlarmState(StateValue.INSUFFICIENT_DATA, INITIAL_REASON, tx.now, tx.now)
        alarm = Alarm(name, type_, settings, initial, tx.now, metric_id=new_uuid(tx.entropy), tags=tags)
    else:
        alarm = replace(known, settings=settings, configured_at=tx.now)
    tx.resources.put(scope, alarm)
    _tell(tx, scope, alarm, "create" if known is None else "update", known)
    return alarm


def delete(tx: Transaction, scope: Scope, alarm: Alarm) -> None:
    """Delete an alarm, with all that waits for it. Its history stays."""
    tx.resources.delete(Alarm, scope, alarm.name)
    if alarm.is_composite:
        depend(tx, scope, alarm.name, before=relations(alarm, scope), after=())
        tx.timers.clear(COMPOSITE_TIMER, f"{scope}/{alarm.name}")
    else:
        end_watching(tx, scope, alarm)
    _tell(tx, scope, alarm, "delete", None)


def relations(alarm: Alarm, scope: Scope) -> list[str]:
    """The names of the alarms whose changes concern a composite alarm: its children, and its suppressor."""
    references = [*children_of(parse_rule(alarm.settings["AlarmRule"]))]
    if alarm.settings.get("ActionsSuppressor") is not None:
        references.append(str(alarm.settings["ActionsSuppressor"]))
    named = [name_in(reference, scope) for reference in references]
    return list(dict.fromkeys(name for name in named if name is not None))


def depend(
    tx: Transaction, scope: Scope, composite: str, *, before: Iterable[str], after: Iterable[str]
) -> None:  # fmt: skip
    """Note which alarms a composite alarm looks at, in place of those that it looked at before."""
    old, new = list(before), list(after)
    for name in dict.fromkeys([*old, *new]):
        known = tx.resources.get(Dependents, scope, name) or Dependents(name)
        left = tuple(one for one in known.composites if one != composite)
        kept = (*left, composite) if name in new else left
        if kept:
            tx.resources.put(scope, Dependents(name, kept))
        else:
            tx.resources.delete(Dependents, scope, name)


def dependents_of(tx: Transaction, scope: Scope, name: str) -> tuple[str, ...]:
    """The names of the composite alarms that look at an alarm."""
    known = tx.resources.get(Dependents, scope, name)
    return () if known is None else known.composites


def _tell(tx: Transaction, scope: Scope, alarm: Alarm, operation: str, previous: Alarm | None) -> None:
    keep_item(tx, scope, configured(alarm, operation, new_row_id(tx.entropy, tx.now), tx.now))
    tx.services.publish_event(tx, scope, partial(_event, alarm, operation, previous, scope))


def _event(alarm: Alarm, operation: str, previous: Alarm | None, scope: Scope) -> OwnEvent:
    detail = configuration_change(alarm, operation, previous)
    return OwnEvent(EVENT_SOURCE, CONFIGURATION_CHANGE, detail, (alarm.arn(scope),))
