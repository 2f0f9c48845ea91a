"""The operations on the resource policy of a function as a whole document."""

from __future__ import annotations

from redrive.core.documents import Document, load_json
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy
from redrive.services.lambda_.model.function import FunctionReference, invalid_parameter, lambda_error
from redrive.services.lambda_.operations.functions import authorized_reference
from redrive.services.lambda_.operations.permissions import check_policy_revision, policy_owner, store_policy
from redrive.store.api import Transaction


@operation("PutResourcePolicy")
def put_resource_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, policy: str, revision_id: str | None = None
) -> Document:
    """Replace the resource policy of a function, a version or an alias by a document.

    Errors: ResourceNotFoundException; InvalidParameterValueException (no policy); PreconditionFailedException
    (revision).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutResourcePolicy.html
    """
    reference = _reference(tx, caller, "lambda:PutResourcePolicy", resource_arn)
    function, qualifier = policy_owner(tx, reference)
    check_policy_revision(function.policy_of(qualifier), revision_id)
    try:
        parse_policy(policy, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid_parameter(error.message) from None
    given = load_json(policy)["Statement"]
    statements = [given] if isinstance(given, dict) else given
    named = [{"Sid": f"{number}", **one} for number, one in enumerate(statements, start=1)]
    if not named:
        raise invalid_parameter("The policy must contain at least one statement.")
    store_policy(tx, caller, function, qualifier, named)
    return _document(tx, reference)


@operation("GetResourcePolicy")
def get_resource_policy(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """Return the resource policy of a function, a version or an alias.

    Errors: ResourceNotFoundException (function, or it has no policy).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetResourcePolicy.html
    """
    return _document(tx, _reference(tx, caller, "lambda:GetResourcePolicy", resource_arn))


@operation("DeleteResourcePolicy")
def delete_resource_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, revision_id: str | None = None
) -> Document:
    """Delete the resource policy of a function, a version or an alias.

    Errors: ResourceNotFoundException (function, or it has no policy); PreconditionFailedException (revision).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteResourcePolicy.html
    """
    reference = _reference(tx, caller, "lambda:DeleteResourcePolicy", resource_arn)
    _document(tx, reference)
    function, qualifier = policy_owner(tx, reference)
    check_policy_revision(function.policy_of(qualifier), revision_id)
    store_policy(tx, caller, function, qualifier, ())
    return {}


def _reference(tx: Transaction, caller: Caller, action: str, resource_arn: str) -> FunctionReference:
    if ":function:" not in resource_arn:
        raise lambda_error("ResourceNotFoundException", "The resource you requested does not exist.")
    return authorized_reference(tx, caller, action, resource_arn)


def _document(tx: Transaction, reference: FunctionReference) -> Document:
    function, qualifier = policy_owner(tx, reference)
    policy = function.policy_of(qualifier)
    if not policy.statements:
        raise lambda_error("ResourceNotFoundException", "The resource you requested does not exist.")
    return {"Policy": policy.text, "RevisionId": policy.revision}
