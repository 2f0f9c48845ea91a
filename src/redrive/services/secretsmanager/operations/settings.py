"""The operations on the policy and the tags of a secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import (
    Effect,
    Policy,
    PolicyError,
    PolicyKind,
    keys_of_tags,
    parse_policy,
    request_tags,
)
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.finding import Found, find
from redrive.services.secretsmanager.model.requests import invalid_parameter
from redrive.services.secretsmanager.model.tags import merged_tags, read_tags
from redrive.store.api import Transaction


@operation("PutResourcePolicy")
def put_resource_policy(
    tx: Transaction, caller: Caller, *, secret_id: str, resource_policy: str, policy_name: str | None = None,
    block_public_policy: bool | None = None,
) -> Document:  # fmt: skip
    """Give a secret a policy of its own.

    Errors: ResourceNotFoundException; MalformedPolicyDocumentException; PublicPolicyException;
    InvalidParameterException (a name: a secret has one policy here); InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutResourcePolicy.html
    """
    found = find(tx, caller, "PutResourcePolicy", secret_id)
    _refuse_name(policy_name)
    policy = _read(resource_policy)
    if block_public_policy and _is_public(policy):
        message = "You can't attach a resource policy that allows broad access to the secret."
        raise ServiceError("PublicPolicyException", message)
    tx.resources.put(found.scope, replace(found.secret, policy=resource_policy))
    return _named(found)


@operation("GetResourcePolicy")
def get_resource_policy(tx: Transaction, caller: Caller, *, secret_id: str, policy_name: str | None = None) -> Document:
    """Return the policy of a secret, if it has one.

    Errors: ResourceNotFoundException; InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetResourcePolicy.html
    """
    found = find(tx, caller, "GetResourcePolicy", secret_id)
    _refuse_name(policy_name)
    return {**_named(found), "ResourcePolicy": found.secret.policy or None}


@operation("DeleteResourcePolicy")
def delete_resource_policy(
    tx: Transaction, caller: Caller, *, secret_id: str, policy_name: str | None = None
) -> Document:
    """Take the policy of a secret away.

    Errors: ResourceNotFoundException; InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DeleteResourcePolicy.html
    """
    found = find(tx, caller, "DeleteResourcePolicy", secret_id)
    _refuse_name(policy_name)
    tx.resources.put(found.scope, replace(found.secret, policy=""))
    return _named(found)


@operation("ValidateResourcePolicy")
def validate_resource_policy(
    tx: Transaction, caller: Caller, *, resource_policy: str, secret_id: str | None = None
) -> Document:
    """Say whether a policy could be given to a secret.

    Errors: ResourceNotFoundException; MalformedPolicyDocumentException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_ValidateResourcePolicy.html
    """
    if secret_id is None:
        tx.services.authorize(tx, caller, "secretsmanager:ValidateResourcePolicy", "*")
    else:
        find(tx, caller, "ValidateResourcePolicy", secret_id)
    if _is_public(_read(resource_policy)):
        error = {"CheckName": "PUBLIC", "ErrorMessage": "The policy allows broad access to the secret."}
        return {"PolicyValidationPassed": False, "ValidationErrors": [error]}
    return {"PolicyValidationPassed": True, "ValidationErrors": []}


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, secret_id: str, tags: Sequence[Document]) -> Document:
    """Add tags to a secret. A tag with an existing key replaces the old tag.

    Errors: ResourceNotFoundException; InvalidParameterException; InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_TagResource.html
    """
    context = request_tags(read_tags(tags))
    found = find(tx, caller, "TagResource", secret_id, more=context)
    tx.resources.put(found.scope, replace(found.secret, tags=merged_tags(found.secret.tags, tags)))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, secret_id: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a secret.

    Errors: ResourceNotFoundException; InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_UntagResource.html
    """
    found = find(tx, caller, "UntagResource", secret_id, more=keys_of_tags(tag_keys))
    left = {key: value for key, value in found.secret.tags.items() if key not in tag_keys}
    tx.resources.put(found.scope, replace(found.secret, tags=left))
    return {}


def _read(document: str) -> Policy:
    try:
        policy = parse_policy(document, PolicyKind.RESOURCE)
    except PolicyError as error:
        message = f"This resource policy contains invalid Json: {error}"
        raise ServiceError("MalformedPolicyDocumentException", message) from None
    if len(document) > limits.POLICY_CHARACTERS_MAX:
        raise invalid_parameter(f"A policy has {limits.POLICY_CHARACTERS_MAX} characters at most.")
    return policy


def _is_public(policy: Policy) -> bool:
    return any(
        statement.effect is Effect.ALLOW
        and not statement.conditions
        and (statement.principals is None or "*" in statement.principals.aws)
        for statement in policy.statements
    )


def _refuse_name(policy_name: str | None) -> None:
    if policy_name is not None:
        raise invalid_parameter("redrive serves one policy of a secret, which has no name: leave PolicyName out.")


def _named(found: Found) -> Document:
    return {"ARN": found.arn, "Name": found.secret.name}
