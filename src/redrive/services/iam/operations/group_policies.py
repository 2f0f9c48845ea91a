"""What a group may do: its inline policies and the managed policies attached to it; its users may do it, too."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.holders import HeldPolicies
from redrive.services.iam.operations.groups import group_for, store_group
from redrive.store.api import Transaction

_HELD = HeldPolicies(
    "Group", group_for, store_group, attached_max=limits.POLICIES_PER_GROUP_MAX,
    inline_characters_max=limits.GROUP_INLINE_POLICIES_CHARACTERS_MAX,
)  # fmt: skip


@operation("PutGroupPolicy")
def put_group_policy(
    tx: Transaction, caller: Caller, *, group_name: str, policy_name: str, policy_document: str
) -> Document:
    """Give a group an inline policy, over the one of that name.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutGroupPolicy.html
    """
    return _HELD.put_inline(tx, caller, group_name, policy_name, policy_document)


@operation("GetGroupPolicy")
def get_group_policy(tx: Transaction, caller: Caller, *, group_name: str, policy_name: str) -> Document:
    """An inline policy of a group.

    Errors: NoSuchEntityException (group or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetGroupPolicy.html
    """
    return _HELD.get_inline(tx, caller, group_name, policy_name)


@operation("ListGroupPolicies")
def list_group_policies(
    tx: Transaction, caller: Caller, *, group_name: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """The names of a group's inline policies.

    Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListGroupPolicies.html
    """
    return _HELD.list_inline(tx, caller, group_name, marker, max_items)


@operation("DeleteGroupPolicy")
def delete_group_policy(tx: Transaction, caller: Caller, *, group_name: str, policy_name: str) -> Document:
    """Take an inline policy away from a group.

    Errors: NoSuchEntityException (group or policy).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteGroupPolicy.html
    """
    return _HELD.delete_inline(tx, caller, group_name, policy_name)


@operation("AttachGroupPolicy")
def attach_group_policy(tx: Transaction, caller: Caller, *, group_name: str, policy_arn: str) -> Document:
    """Attach a managed policy to a group; attaching it again changes nothing.

    Errors: NoSuchEntityException (group or policy); InvalidInputException (no ARN); LimitExceededException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AttachGroupPolicy.html
    """
    return _HELD.attach(tx, caller, group_name, policy_arn)


@operation("DetachGroupPolicy")
def detach_group_policy(tx: Transaction, caller: Caller, *, group_name: str, policy_arn: str) -> Document:
    """Detach a managed policy from a group.

    Errors: NoSuchEntityException (no such group, or the policy is not attached to it); InvalidInputException (no ARN).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DetachGroupPolicy.html
    """
    return _HELD.detach(tx, caller, group_name, policy_arn)


@operation("ListAttachedGroupPolicies")
def list_attached_group_policies(
    tx: Transaction, caller: Caller, *,
    group_name: str, path_prefix: str | None = None, marker: str | None = None, max_items: int | None = None,
) -> Document:  # fmt: skip
    """The managed policies that are attached to a group, in order of their names.

    Errors: NoSuchEntityException; ValidationException (a marker that no list gave).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAttachedGroupPolicies.html
    """
    return _HELD.list_attached(tx, caller, group_name, path_prefix, marker, max_items)
