"""The operations on the targets of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import passed_to
from redrive.services.events import limits
from redrive.services.events.matchers import all_rules, store_rule
from redrive.services.events.model.bus import reference_of
from redrive.services.events.model.managed_rule import archive_name
from redrive.services.events.model.pages import decode_token, encode_token
from redrive.services.events.model.requests import limit_exceeded, managed, no_such_bus
from redrive.services.events.model.rule import PRINCIPAL, Rule, rule_arn
from redrive.services.events.model.target_checks import check_target
from redrive.services.events.operations.buses import find_bus
from redrive.services.events.operations.rules import existing_rule
from redrive.store.api import Transaction


@operation("PutTargets")
def put_targets(
    tx: Transaction, caller: Caller, *, rule: str, targets: Sequence[Document], event_bus_name: str | None = None
) -> Document:  # fmt: skip
    """Add targets to a rule; a target with the id of another one replaces it.

    Errors: ResourceNotFoundException (the rule, or the bus); ValidationException; LimitExceededException (5 targets);
    ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutTargets.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    found = existing_rule(tx, caller, "events:PutTargets", bus, rule)
    if found.managed_by:
        raise managed(rule)
    for target in targets:
        check_target(target, bus.scope)
        if "RoleArn" in target:
            context = passed_to(PRINCIPAL, found.arn(bus.scope))
            tx.services.authorize(tx, caller, "iam:PassRole", target["RoleArn"], context=context)
    merged = {target["Id"]: target for target in (*found.targets, *targets)}
    if len(merged) > limits.TARGETS_PER_RULE_MAX:
        raise limit_exceeded()
    _store(tx, bus.scope, found, merged)
    return {"FailedEntryCount": 0, "FailedEntries": []}


@operation("RemoveTargets")
def remove_targets(
    tx: Transaction, caller: Caller, *, rule: str, ids: Sequence[str], event_bus_name: str | None = None,
    force: bool | None = None,
) -> Document:  # fmt: skip
    """Remove targets from a rule. What was promised to them is still delivered.

    Errors: ResourceNotFoundException (the rule, or the bus; entry by entry a target); ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_RemoveTargets.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    found = existing_rule(tx, caller, "events:RemoveTargets", bus, rule)
    if found.managed_by and (not force or archive_name(rule) is not None):
        raise managed(rule)
    left = {target["Id"]: target for target in found.targets}
    failed = [
        {
            "TargetId": target_id, "ErrorCode": "ResourceNotFoundException",
            "ErrorMessage": f"Rule {rule} does not have a target with the Id {target_id}.",
        }
        for target_id in ids
        if left.pop(target_id, None) is None
    ]  # fmt: skip
    if len(left) < len(found.targets):
        _store(tx, bus.scope, found, left)
    return {"FailedEntryCount": len(failed), "FailedEntries": failed}


@operation("ListTargetsByRule")
def list_targets_by_rule(
    tx: Transaction, caller: Caller, *, rule: str, event_bus_name: str | None = None, next_token: str | None = None,
    limit: int | None = None,
) -> Document:  # fmt: skip
    """List the targets of a rule, sorted by id.

    Errors: ResourceNotFoundException (the rule, or the bus); ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListTargetsByRule.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    found = existing_rule(tx, caller, "events:ListTargetsByRule", bus, rule)
    size, asked = limit or limits.PAGE_MAX, ("ListTargetsByRule", found.arn(bus.scope))
    after = decode_token(next_token, *asked)
    rest = [target for target in found.targets if target["Id"] > after]
    token = encode_token(rest[size - 1]["Id"], *asked) if len(rest) > size else None
    return {"Targets": rest[:size], "NextToken": token}


@operation("ListRuleNamesByTarget")
def list_rule_names_by_target(
    tx: Transaction, caller: Caller, *, target_arn: str, event_bus_name: str | None = None,
    next_token: str | None = None, limit: int | None = None,
) -> Document:  # fmt: skip
    """List the names of the rules of a bus that have a target with this ARN.

    Errors: ResourceNotFoundException (the bus); ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListRuleNamesByTarget.html
    """
    bus = reference_of(caller.scope, event_bus_name)
    tx.services.authorize(tx, caller, "events:ListRuleNamesByTarget", rule_arn(bus.scope, bus.name, "*"))
    if find_bus(tx, bus) is None:
        raise no_such_bus(bus.name)
    size, asked = limit or limits.PAGE_MAX, ("ListRuleNamesByTarget", bus.arn, target_arn)
    after = decode_token(next_token, *asked)
    names = [
        rule.rule_name
        for rule in all_rules(tx, bus.scope, bus.name)
        if rule.rule_name > after and any(target["Arn"] == target_arn for target in rule.targets)
    ]
    return {
        "RuleNames": names[:size],
        "NextToken": encode_token(names[size - 1], *asked) if len(names) > size else None,
    }


def _store(tx: Transaction, scope: Scope, rule: Rule, targets: dict[str, Document]) -> None:
    store_rule(tx, scope, replace(rule, targets=tuple(target for _, target in sorted(targets.items()))))
