"""The operations on versions of managed policies: up to five are stored, one is the default."""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.model.documents import check_managed, encoded
from redrive.services.iam.model.requests import no_such_entity, page
from redrive.services.iam.model.role import ManagedPolicy, PolicyVersion
from redrive.services.iam.operations.policies import own_policy_for, policy_for, store_policy
from redrive.store.api import Transaction


@operation("CreatePolicyVersion")
def create_policy_version(
    tx: Transaction, caller: Caller, *, policy_arn: str, policy_document: str, set_as_default: bool | None = None
) -> Document:
    """Add a version to a managed policy, on request as the default. Version numbers are never reused.

    Errors: NoSuchEntityException; MalformedPolicyDocumentException; LimitExceededException; InvalidInputException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreatePolicyVersion.html
    """
    policy = own_policy_for(tx, caller, policy_arn, "iam:CreatePolicyVersion")
    check_managed(policy_document)
    if len(policy.versions) >= limits.VERSIONS_PER_POLICY_MAX:
        raise ServiceError(
            "LimitExceededException",
            f"A managed policy can have up to {limits.VERSIONS_PER_POLICY_MAX} versions."
            " Before you create a new version, you must delete an existing version.",
        )
    version = PolicyVersion(policy.latest_number + 1, policy_document, tx.now)
    changed = dataclasses.replace(
        policy, versions=(*policy.versions, version), latest_number=version.number, updated_at=tx.now,
        default_number=version.number if set_as_default else policy.default_number,
    )  # fmt: skip
    store_policy(tx, changed)
    return {"PolicyVersion": _listed(changed, version)}


@operation("GetPolicyVersion")
def get_policy_version(tx: Transaction, caller: Caller, *, policy_arn: str, version_id: str) -> Document:
    """Return a version of a managed policy with its document.

    Errors: NoSuchEntityException (policy or version); InvalidInputException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetPolicyVersion.html
    """
    policy = policy_for(tx, caller, policy_arn, "iam:GetPolicyVersion")
    version = _version(policy, version_id)
    return {"PolicyVersion": _listed(policy, version) | {"Document": encoded(version.document)}}


@operation("ListPolicyVersions")
def list_policy_versions(
    tx: Transaction, caller: Caller, *, policy_arn: str, marker: str | None = None, max_items: int | None = None
) -> Document:
    """List the versions of a managed policy, newest first, without their documents.

    Errors: NoSuchEntityException; InvalidInputException; ValidationException (an invalid marker).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListPolicyVersions.html
    """
    policy = policy_for(tx, caller, policy_arn, "iam:ListPolicyVersions")
    # The key of the newest version sorts first.
    items, more = page(policy.versions, lambda version: f"{10**9 - version.number:010}", marker, max_items)
    return {"Versions": [_listed(policy, version) for version in items], **more}


@operation("SetDefaultPolicyVersion")
def set_default_policy_version(tx: Transaction, caller: Caller, *, policy_arn: str, version_id: str) -> Document:
    """Make a version the default of a managed policy.

    Errors: NoSuchEntityException (policy or version); InvalidInputException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_SetDefaultPolicyVersion.html
    """
    policy = own_policy_for(tx, caller, policy_arn, "iam:SetDefaultPolicyVersion")
    number = _version(policy, version_id).number
    store_policy(tx, dataclasses.replace(policy, default_number=number, updated_at=tx.now))
    return {}


@operation("DeletePolicyVersion")
def delete_policy_version(tx: Transaction, caller: Caller, *, policy_arn: str, version_id: str) -> Document:
    """Delete a version of a managed policy that is not the default.

    Errors: NoSuchEntityException (policy or version); DeleteConflictException; InvalidInputException.
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeletePolicyVersion.html
    """
    policy = own_policy_for(tx, caller, policy_arn, "iam:DeletePolicyVersion")
    deleted = _version(policy, version_id)
    if deleted.number == policy.default_number:
        raise ServiceError("DeleteConflictException", "Cannot delete the default version of a policy.")
    remaining = tuple(version for version in policy.versions if version is not deleted)
    store_policy(tx, dataclasses.replace(policy, versions=remaining, updated_at=tx.now))
    return {}


def _version(policy: ManagedPolicy, version_id: str) -> PolicyVersion:
    version = policy.version(version_id)
    if version is None:
        raise no_such_entity(f"Policy {policy.arn} version {version_id} does not exist or is not attachable.")
    return version


def _listed(policy: ManagedPolicy, version: PolicyVersion) -> Document:
    """A version as lists show it."""
    return {
        "VersionId": version.id,
        "IsDefaultVersion": version.number == policy.default_number,
        "CreateDate": version.created_at,
    }
