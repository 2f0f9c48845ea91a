"""The operations on rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, passed_to, request_tags, resource_tags
from redrive.services.events import limits
from redrive.services.events.matchers import delete_rule as forget_rule
from redrive.services.events.matchers import store_rule
from redrive.services.events.model.archive import Archive
from redrive.services.events.model.bus import DEFAULT_BUS, BusReference, reference_of
from redrive.services.events.model.managed_rule import archive_name, rule_of
from redrive.services.events.model.pages import decode_token, encode_token
from redrive.services.events.model.patterns import check_pattern
from redrive.services.events.model.requests import invalid, limit_exceeded, managed, no_such_bus, no_such_rule
from redrive.services.events.model.rule import PRINCIPAL, Rule, RuleState, full_name, rule_arn
from redrive.services.events.model.schedules import is_expression, planned
from redrive.services.events.model.tags import merged_tags
from redrive.services.events.operations.buses import find_bus
from redrive.services.events.timers import set_timer
from redrive.store.api import NO_CONTEXT, Transaction


@operation("PutRule")
def put_rule(
    tx: Transaction, caller: Caller, *, name: str, schedule_expression: str | None = None,
    event_pattern: str | None = None, state: str | None = None, description: str | None = None,
    role_arn: str | None = None, tags: Sequence[Document] | None = None, event_bus_name: str | None = None,
) -> Document:  # fmt: skip
    """Create a rule, or replace what a rule says; it keeps its targets and its tags.

    Errors: ResourceNotFoundException (the bus); ValidationException (neither pattern nor schedule; the schedule);
    InvalidEventPatternException; LimitExceededException (300 rules on the bus); ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    given = merged_tags({}, tags)
    _authorize(tx, caller, "events:PutRule", bus, name, request_tags(given) if given else NO_CONTEXT)
    _existing(tx, bus)
    if not event_pattern and not schedule_expression:
        raise invalid("Parameter(s) EventPattern or ScheduleExpression must be specified.")
    _check_schedule(schedule_expression, bus)
    if event_pattern:
        check_pattern(event_pattern, tx.services.limits)
    arn = rule_arn(bus.scope, bus.name, name)
    if role_arn is not None:
        tx.services.authorize(tx, caller, "iam:PassRole", role_arn, context=passed_to(PRINCIPAL, arn))
    known = find_rule(tx, bus, name)
    if known is None:
        _check_room(tx, bus)
    elif known.managed_by:
        raise managed(name)
    base = Rule(bus.name, name, tx.now, tags=given, anchor_at=tx.now) if known is None else known
    rule = replace(
        base, pattern=event_pattern or None, schedule=schedule_expression or None,
        state=RuleState(state or RuleState.ENABLED.value), description=description, role_arn=role_arn,
        anchor_at=base.anchor_at if base.schedule == (schedule_expression or None) else tx.now,
    )  # fmt: skip
    _store(tx, bus, rule)
    return {"RuleArn": arn}


@operation("DeleteRule")
def delete_rule(
    tx: Transaction, caller: Caller, *, name: str, event_bus_name: str | None = None, force: bool | None = None
) -> Document:
    """Delete a rule that has no targets. A rule that does not exist counts as deleted.

    Errors: ValidationException (the rule has targets); ResourceNotFoundException (the bus); ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteRule.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    rule = _authorized(tx, caller, "events:DeleteRule", bus, name)
    if rule is None:
        return {}
    if rule.managed_by and not force:
        raise managed(name)
    if rule.targets:
        raise invalid("Rule can't be deleted since it has targets.")
    forget_rule(tx, bus.scope, rule)
    set_timer(tx, bus.scope, replace(rule, next_at=None))
    return {}


@operation("DescribeRule")
def describe_rule(tx: Transaction, caller: Caller, *, name: str, event_bus_name: str | None = None) -> Document:
    """Show a rule, without its targets.

    Errors: ResourceNotFoundException (the rule, or the bus).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeRule.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    rule = existing_rule(tx, caller, "events:DescribeRule", bus, name)
    return {**_shown(bus, rule), "CreatedBy": bus.scope.account}


@operation("ListRules")
def list_rules(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, event_bus_name: str | None = None,
    next_token: str | None = None, limit: int | None = None,
) -> Document:  # fmt: skip
    """List the rules of a bus, sorted by name.

    Errors: ResourceNotFoundException (the bus); ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListRules.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    _authorize(tx, caller, "events:ListRules", bus, "*")
    _existing(tx, bus)
    size, asked = limit or limits.PAGE_MAX, ("ListRules", bus.arn, name_prefix)
    prefix, after = f"{bus.name}/{name_prefix or ''}", decode_token(next_token, *asked)
    found = tx.resources.list(Rule, bus.scope, prefix=prefix, after=after, limit=size + 1)
    managed_rules = [rule for rule in rules_of_archives(tx, bus) if rule.name.startswith(prefix) and rule.name > after]
    found = sorted([*found, *managed_rules], key=lambda rule: rule.name)
    page = found[:size]
    return {
        "Rules": [_shown(bus, rule) for rule in page],
        "NextToken": encode_token(page[-1].name, *asked) if len(found) > size else None,
    }


@operation("EnableRule")
def enable_rule(tx: Transaction, caller: Caller, *, name: str, event_bus_name: str | None = None) -> Document:
    """Enable a rule. Its schedule goes on from now.

    Errors: ResourceNotFoundException; ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_EnableRule.html
    """
    return _set_state(tx, caller, "events:EnableRule", name, event_bus_name, RuleState.ENABLED)


@operation("DisableRule")
def disable_rule(tx: Transaction, caller: Caller, *, name: str, event_bus_name: str | None = None) -> Document:
    """Disable a rule. What it has promised to its targets is still delivered.

    Errors: ResourceNotFoundException; ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DisableRule.html
    """
    return _set_state(tx, caller, "events:DisableRule", name, event_bus_name, RuleState.DISABLED)


def existing_rule(tx: Transaction, caller: Caller, action: str, bus: BusReference, name: str) -> Rule:
    """The rule that a caller may use for this action.

    Errors: AccessDeniedException; ResourceNotFoundException (the rule, or the bus).
    """
    rule = _authorized(tx, caller, action, bus, name)
    if rule is None:
        raise no_such_rule(name, bus.name)
    return rule


def find_rule(tx: Transaction, bus: BusReference, name: str) -> Rule | None:
    """The rule with this name, or None; also one that AWS makes for an archive."""
    rule = tx.resources.get(Rule, bus.scope, full_name(bus.name, name))
    of_archive = archive_name(name) if rule is None else None
    archive = None if of_archive is None else tx.resources.get(Archive, bus.scope, of_archive)
    return rule if archive is None or archive.bus_name != bus.name else rule_of(archive, bus.scope)


def rules_of_archives(tx: Transaction, bus: BusReference) -> list[Rule]:
    """The rules that AWS makes for the archives of a bus."""
    found = tx.resources.list(Archive, bus.scope)
    return [rule_of(archive, bus.scope) for archive in found if archive.bus_name == bus.name]


def _authorized(tx: Transaction, caller: Caller, action: str, bus: BusReference, name: str) -> Rule | None:
    rule = find_rule(tx, bus, name)
    _authorize(tx, caller, action, bus, name, NO_CONTEXT if rule is None else resource_tags(rule.tags))
    _existing(tx, bus)
    return rule


def _authorize(
    tx: Transaction, caller: Caller, action: str, bus: BusReference, name: str, context: Context = NO_CONTEXT
) -> None:
    """Check a caller's permission for a rule; the policy of the rule's bus can give it."""
    found = find_bus(tx, bus)
    policy = "" if found is None else found.policy
    tx.services.authorize(tx, caller, action, rule_arn(bus.scope, bus.name, name), context=context, policy=policy)


def _existing(tx: Transaction, bus: BusReference) -> None:
    if find_bus(tx, bus) is None:
        raise no_such_bus(bus.name)


def _check_schedule(expression: str | None, bus: BusReference) -> None:
    if not expression:
        return
    if bus.name != DEFAULT_BUS:
        raise invalid("ScheduleExpression is supported only on the default event bus.")
    if not is_expression(expression):
        raise invalid("Parameter ScheduleExpression is not valid.")


def _check_room(tx: Transaction, bus: BusReference) -> None:
    if tx.services.limits is Limits.RELAXED:
        return
    count = tx.resources.count(Rule, bus.scope, prefix=f"{bus.name}/") + len(rules_of_archives(tx, bus))
    if count >= limits.RULES_PER_BUS_MAX:
        raise limit_exceeded()


def _set_state(
    tx: Transaction, caller: Caller, action: str, name: str, event_bus_name: str | None, state: RuleState
) -> Document:
    bus = reference_of(caller.scope, event_bus_name)
    rule = existing_rule(tx, caller, action, bus, name)
    if rule.managed_by:
        raise managed(name)
    if rule.is_enabled != (state is RuleState.ENABLED):
        _store(tx, bus, replace(rule, state=state))
    return {}


def _store(tx: Transaction, bus: BusReference, rule: Rule) -> None:
    moved = planned(rule, tx.now)
    store_rule(tx, bus.scope, moved)
    if moved.next_at is not None or moved.schedule is not None or rule.next_at is not None:
        set_timer(tx, bus.scope, moved)


def _shown(bus: BusReference, rule: Rule) -> Document:
    optional = {
        "EventPattern": rule.pattern, "ScheduleExpression": rule.schedule, "Description": rule.description,
        "RoleArn": rule.role_arn, "ManagedBy": rule.managed_by or None,
    }  # fmt: skip
    return {
        "Name": rule.rule_name, "Arn": rule.arn(bus.scope), "State": rule.state.value, "EventBusName": bus.name,
        **{name: value for name, value in optional.items() if value is not None},
    }  # fmt: skip
