"""The operations on resource policies of tables and streams, which decide who else may use them."""

from __future__ import annotations

import re

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.dynamodb.model.settings import TablePolicy, policy_not_found
from redrive.services.dynamodb.model.table import Table, invalid, not_found
from redrive.services.dynamodb.policies import check_policy, policy_of
from redrive.store.api import Transaction

NO_POLICY = "NO_POLICY"
"""As an expected revision: the resource has no policy."""

_ARN = re.compile(r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/(([a-zA-Z0-9_.-]{3,255})(?:/stream/[^/]+)?)")


@operation("PutResourcePolicy")
def put_resource_policy(
    tx: Transaction,
    caller: Caller,
    *,
    resource_arn: str,
    policy: str,
    expected_revision_id: str | None = None,
    confirm_remove_self_resource_access: bool | None = None,
) -> Document:
    """Attach a policy to a table or a stream; it replaces the present one, and counts at once.

    Errors: ResourceNotFoundException; PolicyNotFoundException (another revision); ValidationException (not a policy,
    too large, of other services' actions, or one that would lock the caller out).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutResourcePolicy.html
    """
    scope, name = _authorized(tx, caller, "PutResourcePolicy", resource_arn)
    check_policy(policy)
    present = tx.resources.get(TablePolicy, scope, name)
    _check_revision(present, expected_revision_id, resource_arn)
    if not confirm_remove_self_resource_access:
        _check_keeps_access(tx, caller, resource_arn, policy)
    stored = TablePolicy(name, policy, new_uuid(tx.entropy))
    if present is not None and present.document == policy:
        stored = present
    tx.resources.put(scope, stored)
    return {"RevisionId": stored.revision}


@operation("GetResourcePolicy")
def get_resource_policy(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """Return the policy of a table or a stream.

    Errors: ResourceNotFoundException; PolicyNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetResourcePolicy.html
    """
    scope, name = _authorized(tx, caller, "GetResourcePolicy", resource_arn)
    present = tx.resources.get(TablePolicy, scope, name)
    if present is None:
        raise policy_not_found(resource_arn)
    return {"Policy": present.document, "RevisionId": present.revision}


@operation("DeleteResourcePolicy")
def delete_resource_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, expected_revision_id: str | None = None
) -> Document:
    """Remove the policy of a table or a stream; one that is not there is no error, unless a revision is expected.

    Errors: ResourceNotFoundException; PolicyNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteResourcePolicy.html
    """
    scope, name = _authorized(tx, caller, "DeleteResourcePolicy", resource_arn)
    present = tx.resources.get(TablePolicy, scope, name)
    if expected_revision_id is not None and (present is None or present.revision != expected_revision_id):
        raise policy_not_found(resource_arn)
    tx.resources.delete(TablePolicy, scope, name)
    return {} if present is None else {"RevisionId": present.revision}


def _authorized(tx: Transaction, caller: Caller, action: str, arn: str) -> tuple[Scope, str]:
    """Return where the policy of a resource is stored, if the caller may do this action on it.

    The account itself may always do so, whatever the present policy denies, so that nobody locks an account out.
    Errors: ResourceNotFoundException; ValidationException (not the ARN of a table or a stream).
    """
    found = _ARN.fullmatch(arn)
    if found is None:
        raise invalid(f"Invalid ResourceArn: {arn}; it must be the ARN of a table or of a stream")
    scope, name = Scope(found[2], found[1]), found[3]
    is_owner = caller.is_account and caller.account == scope.account
    tx.services.authorize(tx, caller, f"dynamodb:{action}", arn, policy="" if is_owner else policy_of(tx, scope, name))
    table = tx.resources.get(Table, scope, found[4]) if scope.region == caller.region else None
    if table is None:
        raise not_found(f"ResourceArn: {arn} not found")
    return scope, name


def _check_revision(present: TablePolicy | None, expected: str | None, arn: str) -> None:
    found = NO_POLICY if present is None else present.revision
    if expected is not None and expected != found:
        raise policy_not_found(arn)


def _check_keeps_access(tx: Transaction, caller: Caller, arn: str, policy: str) -> None:
    """Refuse a policy with which the caller could not change the policy again. Errors: ValidationException."""
    try:
        tx.services.authorize(tx, caller, "dynamodb:PutResourcePolicy", arn, policy=policy)
    except ServiceError as error:
        raise invalid(
            "The policy would remove the caller's own permission to change it; "
            "set ConfirmRemoveSelfResourceAccess to allow that"
        ) from error
