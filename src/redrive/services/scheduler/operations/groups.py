"""The operations on schedule groups and their tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, keys_of_tags, request_tags
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.pages import decode_token, encode_token
from redrive.services.scheduler.model.requests import invalid
from redrive.services.scheduler.model.schedule import DEFAULT_GROUP, GroupState, ScheduleGroup, group_arn, name_of_arn
from redrive.services.scheduler.timers import GROUP_TIMER, timer_name
from redrive.services.scheduler.tokens import once
from redrive.store.api import NO_CONTEXT, Transaction

DEFAULT_REFUSAL = f"This operation cannot be performed on schedule group {DEFAULT_GROUP}."
AWS_TAG_PREFIX = "aws:"


@operation("CreateScheduleGroup")
def create_schedule_group(
    tx: Transaction, caller: Caller, *, name: str, tags: list[Document] | None = None, client_token: str | None = None
) -> Document:
    """Create a group.

    Errors: ConflictException (the name is in use); ServiceQuotaExceededException (500 groups); ValidationException (the
    name of the default group; more than 50 tags, a repeated key, or a key reserved for AWS).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateScheduleGroup.html
    """
    arn = group_arn(caller.scope, name)
    tx.services.authorize(tx, caller, "scheduler:CreateScheduleGroup", arn, context=_asked(tags or []))

    def create() -> Document:
        if name == DEFAULT_GROUP:
            raise invalid(DEFAULT_REFUSAL)
        if find_group(tx, caller.scope, name) is not None:
            raise ServiceError("ConflictException", f"Schedule group {name} already exists.")
        if tx.resources.count(ScheduleGroup, caller.scope) >= limits.GROUPS_MAX:
            raise ServiceError("ServiceQuotaExceededException", "The quota of schedule groups is exceeded.")
        group = ScheduleGroup(name, tx.now, tx.now, tags=_merged({}, tags or []))
        tx.resources.put(caller.scope, group)
        return {"ScheduleGroupArn": arn}

    return once(tx, caller, "CreateScheduleGroup", client_token, params={"name": name, "tags": tags}, run=create)


@operation("GetScheduleGroup")
def get_schedule_group(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Show a group.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetScheduleGroup.html
    """
    tx.services.authorize(tx, caller, "scheduler:GetScheduleGroup", group_arn(caller.scope, name))
    return _shown(caller.scope, the_group(tx, caller.scope, name))


@operation("DeleteScheduleGroup")
def delete_schedule_group(tx: Transaction, caller: Caller, *, name: str, client_token: str | None = None) -> Document:
    """Start to delete a group. It shows DELETING until all its schedules are gone, and may still fire until then.

    Errors: ResourceNotFoundException; ConflictException (it is being deleted already); ValidationException (nobody can
    delete the default group).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_DeleteScheduleGroup.html
    """
    scope = caller.scope
    tx.services.authorize(tx, caller, "scheduler:DeleteScheduleGroup", group_arn(scope, name))

    def delete() -> Document:
        if name == DEFAULT_GROUP:
            raise invalid(DEFAULT_REFUSAL)
        group = active_group(tx, scope, name)
        tx.resources.put(scope, replace(group, state=GroupState.DELETING, modified_at=tx.now))
        tx.timers.set(GROUP_TIMER, timer_name(scope, name), tx.now)
        tx.notify("due")
        return {}

    return once(tx, caller, "DeleteScheduleGroup", client_token, params={"name": name}, run=delete)


@operation("ListScheduleGroups")
def list_schedule_groups(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, next_token: str | None = None,
    max_results: int | None = None,
) -> Document:  # fmt: skip
    """List groups sorted by name, including the default group.

    Errors: ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListScheduleGroups.html
    """
    tx.services.authorize(tx, caller, "scheduler:ListScheduleGroups", "*")
    the_group(tx, caller.scope, DEFAULT_GROUP)
    size, asked = max_results or limits.PAGE_MAX, ("ListScheduleGroups", name_prefix)
    found = tx.resources.list(
        ScheduleGroup, caller.scope, prefix=name_prefix or "", after=decode_token(next_token, *asked), limit=size + 1
    )
    page = found[:size]
    return {
        "ScheduleGroups": [_shown(caller.scope, group) for group in page],
        "NextToken": encode_token(page[-1].name, *asked) if len(found) > size else None,
    }


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: list[Document]) -> Document:
    """Add tags to a group. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; AccessDeniedException (another account's group); ValidationException (more than
    50 tags, a repeated key, or a key reserved for AWS).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_TagResource.html
    """
    group = _tagged(tx, caller, "scheduler:TagResource", resource_arn, _asked(tags))
    tx.resources.put(caller.scope, replace(group, tags=_merged(group.tags, tags)))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: list[str]) -> Document:
    """Remove tags from a group; keys that the group does not have are ignored.

    Errors: ResourceNotFoundException; AccessDeniedException (another account's group).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_UntagResource.html
    """
    group = _tagged(tx, caller, "scheduler:UntagResource", resource_arn, keys_of_tags(tag_keys))
    kept = {key: value for key, value in group.tags.items() if key not in tag_keys}
    tx.resources.put(caller.scope, replace(group, tags=kept))
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of a group.

    Errors: ResourceNotFoundException; AccessDeniedException (another account's group).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListTagsForResource.html
    """
    group = _tagged(tx, caller, "scheduler:ListTagsForResource", resource_arn)
    return {"Tags": [{"Key": key, "Value": value} for key, value in group.tags.items()]}


def find_group(tx: Transaction, scope: Scope, name: str) -> ScheduleGroup | None:
    """Return the group with this name, or None. The first look-up of the default group creates it."""
    group = tx.resources.get(ScheduleGroup, scope, name)
    if group is None and name == DEFAULT_GROUP:
        group = ScheduleGroup(name, tx.now, tx.now)
        tx.resources.put(scope, group)
    return group


def the_group(tx: Transaction, scope: Scope, name: str) -> ScheduleGroup:
    """Return the group with this name. Errors: ResourceNotFoundException."""
    group = find_group(tx, scope, name)
    if group is None:
        raise _unknown(name)
    return group


def active_group(tx: Transaction, scope: Scope, name: str) -> ScheduleGroup:
    """Return the group with this name, in which something will change.

    Errors: ResourceNotFoundException; ConflictException (it is being deleted).
    """
    group = the_group(tx, scope, name)
    if group.state is GroupState.DELETING:
        raise ServiceError("ConflictException", f"Schedule group {name} is being deleted.")
    return group


def _tagged(tx: Transaction, caller: Caller, action: str, arn: str, context: Context = NO_CONTEXT) -> ScheduleGroup:
    """Return the group with this ARN, for an operation on its tags. Other accounts never have access to a group."""
    tx.services.authorize(tx, caller, action, arn, context=context)
    name = name_of_arn(arn)
    if Arn.parse(arn).region != caller.region:
        raise _unknown(name)
    return the_group(tx, caller.scope, name)


def _unknown(name: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", f"Schedule group {name} does not exist.")


def _asked(tags: list[Document]) -> Context:
    """Return the condition keys of a request that sets these tags."""
    return request_tags({tag["Key"]: tag["Value"] for tag in tags})


def _merged(tags: Mapping[str, str], added: list[Document]) -> dict[str, str]:
    merged = {**tags, **{tag["Key"]: tag["Value"] for tag in added}}
    if len({tag["Key"] for tag in added}) < len(added):
        raise invalid("Tag keys must be unique.")
    if any(tag["Key"].lower().startswith(AWS_TAG_PREFIX) for tag in added):
        raise invalid(f"Tag keys that begin with {AWS_TAG_PREFIX} are reserved for AWS.")
    if len(merged) > limits.TAGS_MAX:
        raise invalid(f"A schedule group can have at most {limits.TAGS_MAX} tags.")
    return merged


def _shown(scope: Scope, group: ScheduleGroup) -> Document:
    return {
        "Arn": group.arn(scope),
        "Name": group.name,
        "State": group.state.value,
        "CreationDate": group.created_at,
        "LastModificationDate": group.modified_at,
    }
