"""PutCompositeAlarm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.alarm_rule import MalformedRule, Rule, children_of, elements_of, parse_rule
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.alarms import authorize_alarm, configure, depend, dependents_of, relations
from redrive.services.cloudwatch.model.alarm import Alarm, AlarmType, name_in
from redrive.services.cloudwatch.model.alarm_requests import check_name, composite_settings, read_alarm_tags
from redrive.services.cloudwatch.model.metric import validation_error
from redrive.services.cloudwatch.transitions import set_composite_timer
from redrive.store.api import Transaction


@operation("PutCompositeAlarm")
def put_composite_alarm(
    tx: Transaction, caller: Caller, *, alarm_name: str, alarm_rule: str, actions_enabled: bool | None = None,
    alarm_actions: Sequence[str] | None = None, alarm_description: str | None = None,
    insufficient_data_actions: Sequence[str] | None = None, ok_actions: Sequence[str] | None = None,
    tags: Sequence[Mapping[str, str]] | None = None, actions_suppressor: str | None = None,
    actions_suppressor_wait_period: int | None = None, actions_suppressor_extension_period: int | None = None,
    action_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Create or update a composite alarm; it is evaluated at once. An update leaves the state as it is until then.

    Errors: ValidationError (the rule, a child that does not exist, a cycle).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutCompositeAlarm.html
    """
    settings: Document = {
        "AlarmDescription": alarm_description, "ActionsEnabled": actions_enabled, "AlarmRule": alarm_rule,
        "OKActions": None if ok_actions is None else list(ok_actions),
        "AlarmActions": None if alarm_actions is None else list(alarm_actions),
        "InsufficientDataActions": None if insufficient_data_actions is None else list(insufficient_data_actions),
        "ActionsSuppressor": actions_suppressor,
        "ActionsSuppressorWaitPeriod": actions_suppressor_wait_period,
        "ActionsSuppressorExtensionPeriod": actions_suppressor_extension_period,
        "ActionConfiguration": action_configuration,
    }  # fmt: skip
    given = read_alarm_tags(tags)
    scope = caller.scope
    known = authorize_alarm(tx, caller, "PutCompositeAlarm", alarm_name, tags=given, settings=settings)
    check_name(alarm_name)
    if known is not None and not known.is_composite:
        raise validation_error(f"{alarm_name} is a metric alarm. A composite alarm needs a name of its own.")
    checked = composite_settings(settings)
    _check_rule(tx, scope, alarm_name, _parsed(alarm_rule))
    _check_suppressor(tx, scope, actions_suppressor)
    before = () if known is None else relations(known, scope)
    alarm = configure(tx, scope, known, alarm_name, AlarmType.COMPOSITE, checked, given)
    depend(tx, scope, alarm_name, before=before, after=relations(alarm, scope))
    set_composite_timer(tx, scope, alarm_name, tx.now)
    return {}


def _parsed(text: str) -> Rule:
    try:
        return parse_rule(text)
    except MalformedRule as error:
        raise validation_error(f"AlarmRule was not valid: {error}.") from None


def _check_rule(tx: Transaction, scope: Scope, alarm_name: str, rule: Rule) -> None:
    references = children_of(rule)
    if len(references) > limits.CHILDREN_MAX:
        raise validation_error(f"AlarmRule must not have more than {limits.CHILDREN_MAX} alarms.")
    if elements_of(rule) > limits.RULE_ELEMENTS_MAX:
        raise validation_error(f"AlarmRule must not have more than {limits.RULE_ELEMENTS_MAX} elements.")
    for reference in references:
        child = _existing(tx, scope, reference)
        if child is None and name_in(reference, scope) != alarm_name:
            raise validation_error(f"AlarmRule was not valid: the alarm {reference} does not exist.")
        if child is not None and len({*dependents_of(tx, scope, child.name), alarm_name}) > limits.PARENTS_MAX:
            raise validation_error(f"{child.name} must not be in more than {limits.PARENTS_MAX} composite alarms.")
        if name_in(reference, scope) == alarm_name or (child is not None and _leads_to(tx, scope, child, alarm_name)):
            raise validation_error(f"AlarmRule was not valid: {alarm_name} would depend on itself by {reference}.")


def _check_suppressor(tx: Transaction, scope: Scope, reference: str | None) -> None:
    if reference is not None and _existing(tx, scope, reference) is None:
        raise validation_error(f"ActionsSuppressor was not valid: the alarm {reference} does not exist.")


def _existing(tx: Transaction, scope: Scope, reference: str) -> Alarm | None:
    name = name_in(reference, scope)
    return None if name is None else tx.resources.get(Alarm, scope, name)


def _leads_to(tx: Transaction, scope: Scope, start: Alarm, name: str) -> bool:
    """Whether the rules below an alarm lead to an alarm of this name."""
    seen: set[str] = set()
    left = [start]
    while left:
        alarm = left.pop()
        if alarm.name == name:
            return True
        if alarm.is_composite and alarm.name not in seen:
            seen.add(alarm.name)
            below = [_existing(tx, scope, one) for one in children_of(parse_rule(alarm.settings["AlarmRule"]))]
            left += [one for one in below if one is not None]
    return False
