"""The operations on tags of buses and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.events.matchers import store_rule
from redrive.services.events.model.bus import DEFAULT_BUS, BusReference, reference_of
from redrive.services.events.model.requests import invalid, managed, no_such_bus, no_such_rule
from redrive.services.events.model.rule import Rule, name_of_arn
from redrive.services.events.model.tags import merged_tags, shown_tags
from redrive.services.events.operations.buses import find_bus
from redrive.store.api import NO_CONTEXT, Transaction

_Tags = Mapping[str, str]


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: Sequence[Document]) -> Document:
    """Add tags to a bus or a rule. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; ValidationException (tags; another kind of resource); ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_TagResource.html
    """
    context = request_tags({str(tag["Key"]): str(tag["Value"]) for tag in tags})
    return _change(tx, caller, "events:TagResource", resource_arn, context, lambda known: merged_tags(known, tags))


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a bus or a rule.

    Errors: ResourceNotFoundException; ValidationException (another kind of resource); ManagedRuleException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UntagResource.html
    """
    context = keys_of_tags(tag_keys)
    return _change(
        tx, caller, "events:UntagResource", resource_arn, context,
        lambda known: {key: value for key, value in known.items() if key not in tag_keys},
    )  # fmt: skip


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of a bus or a rule.

    Errors: ResourceNotFoundException; ValidationException (another kind of resource).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListTagsForResource.html
    """
    scope, resource = _named(resource_arn)
    tx.services.authorize(tx, caller, "events:ListTagsForResource", resource_arn)
    if resource.startswith("event-bus/"):
        bus = reference_of(scope, resource_arn)
        found = find_bus(tx, bus)
        if found is None:
            raise no_such_bus(bus.name)
        return {"Tags": shown_tags(found.tags)}
    return {"Tags": shown_tags(_rule(tx, scope, resource_arn).tags)}


def _change(
    tx: Transaction, caller: Caller, action: str, arn: str, context: Context, change: Callable[[_Tags], _Tags]
) -> Document:
    scope, resource = _named(arn)
    tx.services.authorize(tx, caller, action, arn, context=context or NO_CONTEXT)
    if resource.startswith("event-bus/"):
        bus = reference_of(scope, arn)
        found = find_bus(tx, bus)
        if found is None:
            raise no_such_bus(bus.name)
        tx.resources.put(scope, replace(found, tags=change(found.tags), created_at=found.created_at or tx.now))
        return {}
    rule = _rule(tx, scope, arn)
    if rule.managed_by:
        raise managed(rule.rule_name)
    store_rule(tx, scope, replace(rule, tags=change(rule.tags)))
    return {}


def _named(arn: str) -> tuple[Scope, str]:
    """The scope and the resource of the ARN of a bus or a rule. Errors: ValidationException."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[2] != "events" or not parts[5].startswith(("event-bus/", "rule/")):
        raise invalid("Parameter ResourceARN is not valid. Reason: Provided Arn is not in correct format.")
    return Scope(parts[4], parts[3]), parts[5]


def _rule(tx: Transaction, scope: Scope, arn: str) -> Rule:
    name = name_of_arn(arn)
    rule = tx.resources.get(Rule, scope, name)
    bus_name, _, rule_name = name.rpartition("/")
    if rule is None:
        if find_bus(tx, BusReference(scope, bus_name or DEFAULT_BUS)) is None:
            raise no_such_bus(bus_name)
        raise no_such_rule(rule_name, bus_name)
    return rule
