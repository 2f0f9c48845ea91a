"""The operations on a function's resource policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import POLICY_BYTES_MAX
from redrive.services.lambda_.model.function import (
    LATEST,
    Function,
    FunctionReference,
    function_not_found,
    invalid_parameter,
    lambda_error,
)
from redrive.services.lambda_.model.policy import FunctionPolicy, is_principal, policy_document, policy_statement
from redrive.services.lambda_.operations.functions import authorized_reference, get_existing
from redrive.services.lambda_.versions import find_version
from redrive.store.api import Transaction


@operation("AddPermission")
def add_permission(
    tx: Transaction, caller: Caller, *,
    function_name: str, statement_id: str, action: str, principal: str, source_arn: str | None = None,
    function_url_auth_type: str | None = None, invoked_via_function_url: bool | None = None,
    source_account: str | None = None, event_source_token: str | None = None, qualifier: str | None = None,
    revision_id: str | None = None, principal_org_id: str | None = None,
) -> Document:  # fmt: skip
    """Add a statement to a function's resource policy.

    Errors: ResourceNotFoundException; ResourceConflictException (statement exists); PreconditionFailedException
    (revision); PolicyLengthExceededException (over 20 KB); InvalidParameterValueException (no such principal;
    $LATEST).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
    """
    reference = authorized_reference(tx, caller, "lambda:AddPermission", function_name, qualifier)
    function, qualifier = policy_owner(tx, reference)
    if reference.qualifier == LATEST:
        raise invalid_parameter("We currently do not support adding policies for $LATEST.")
    if not is_principal(principal):
        raise invalid_parameter("The provided principal was invalid. Please check the principal and try again.")
    policy = function.policy_of(qualifier)
    check_policy_revision(policy, revision_id)
    if any(statement["Sid"] == statement_id for statement in policy.statements):
        raise lambda_error(
            "ResourceConflictException",
            f"The statement id ({statement_id}) provided already exists. Please provide a new statement id, or "
            "remove the existing statement.",
        )
    statement = policy_statement(
        sid=statement_id,
        action=action,
        principal=principal,
        resource=reference.qualified_arn,
        source_arn=source_arn,
        equals={
            "AWS:SourceAccount": source_account,
            "aws:PrincipalOrgID": principal_org_id,
            "lambda:EventSourceToken": event_source_token,
            "lambda:FunctionUrlAuthType": function_url_auth_type,
        },
        via_url=invoked_via_function_url,
    )
    statements = (*policy.statements, statement)
    size = len(policy_document(statements).encode())
    if size > POLICY_BYTES_MAX:
        raise lambda_error(
            "PolicyLengthExceededException",
            f"The final policy size ({size}) is bigger than the limit ({POLICY_BYTES_MAX}).",
        )
    store_policy(tx, caller, function, qualifier, statements)
    return {"Statement": dump_json(statement)}


@operation("RemovePermission")
def remove_permission(
    tx: Transaction, caller: Caller, *,
    function_name: str, statement_id: str, qualifier: str | None = None, revision_id: str | None = None,
) -> Document:  # fmt: skip
    """Remove a statement from a function's resource policy.

    Errors: ResourceNotFoundException (function, statement); PreconditionFailedException (revision).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_RemovePermission.html
    """
    reference = authorized_reference(tx, caller, "lambda:RemovePermission", function_name, qualifier)
    function, qualifier = policy_owner(tx, reference)
    policy = function.policy_of(qualifier)
    check_policy_revision(policy, revision_id)
    if not policy.statements:
        raise lambda_error("ResourceNotFoundException", "No policy is associated with the given resource.")
    statements = [one for one in policy.statements if one["Sid"] != statement_id]
    if len(statements) == len(policy.statements):
        raise lambda_error("ResourceNotFoundException", f"Statement {statement_id} is not found in resource policy.")
    store_policy(tx, caller, function, qualifier, statements)
    return {}


@operation("GetPolicy")
def get_policy(tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None) -> Document:
    """Return a function's resource policy.

    Errors: ResourceNotFoundException (function, or it has no policy).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetPolicy.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetPolicy", function_name, qualifier)
    function, qualifier = policy_owner(tx, reference)
    policy = function.policy_of(qualifier)
    if not policy.statements:
        raise lambda_error("ResourceNotFoundException", "The resource you requested does not exist.")
    return {"Policy": policy.text, "RevisionId": policy.revision}


def policy_owner(tx: Transaction, reference: FunctionReference) -> tuple[Function, str | None]:
    """Return the function and the qualifier whose policy the caller means. Errors: ResourceNotFoundException."""
    function = get_existing(tx, replace(reference, qualifier=None), shown=reference.qualified_arn)
    qualifier = reference.qualifier
    if qualifier is None or qualifier == LATEST:
        return function, None
    if find_version(tx, reference.scope, reference.name, qualifier) is None:
        if qualifier.isdecimal():
            raise function_not_found(reference.qualified_arn)
        raise lambda_error("ResourceNotFoundException", f"Cannot find alias arn: {reference.qualified_arn}")
    return function, qualifier


def check_policy_revision(policy: FunctionPolicy, revision_id: str | None) -> None:
    """Refuse a change that expects another revision. Errors: PreconditionFailedException."""
    if revision_id is not None and revision_id != policy.revision:
        raise lambda_error(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetPolicy API to retrieve the "
            "latest Revision Id",
        )


def store_policy(
    tx: Transaction, caller: Caller, function: Function, qualifier: str | None, statements: Sequence[Document]
) -> None:
    """Store the statements with a new policy revision; the processes that run the function continue."""
    revision = new_uuid(tx.entropy)
    if qualifier is None:
        changed = replace(function, statements=tuple(statements), policy_revision=revision)
    else:
        policies = {**function.policies, qualifier: FunctionPolicy(tuple(statements), revision)}
        changed = replace(function, policies={name: one for name, one in policies.items() if one.statements})
    tx.resources.put(caller.scope, changed)
