"""The operations on the policies and the tags of repositories. Policies are stored; nothing is there to be guarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy
from redrive.services.ecr.finding import found
from redrive.services.ecr.model.repository import Repository
from redrive.store.api import Transaction


@operation("SetRepositoryPolicy")
def set_repository_policy(
    tx: Transaction, caller: Caller, *, repository_name: str, policy_text: str, registry_id: str | None = None,
    force: bool | None = None,  # noqa: ARG001 - no check could be forced.
) -> Document:  # fmt: skip
    """Give a repository a policy.

    Errors: RepositoryNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_SetRepositoryPolicy.html
    """
    repository = found(tx, caller, "SetRepositoryPolicy", repository_name, registry_id)
    try:
        # A policy of a repository names no resource.
        document = load_json(policy_text)
        statements = document["Statement"]
        listed = statements if isinstance(statements, list) else [statements]
        whole = {**document, "Statement": [{"Resource": "*", **one} for one in listed]}
        parse_policy(dump_json(whole), PolicyKind.RESOURCE)
    except (PolicyError, ValueError, KeyError, TypeError) as error:
        message = f"Invalid parameter at 'PolicyText' failed to satisfy constraint: 'Invalid repository policy provided' ({error})"  # noqa: E501 - one sentence.
        raise ServiceError("InvalidParameterException", message) from None
    tx.resources.put(caller.scope, replace(repository, policy=policy_text))
    return {**_named(caller, repository), "policyText": policy_text}


@operation("GetRepositoryPolicy")
def get_repository_policy(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None
) -> Document:
    """Return the policy of a repository.

    Errors: RepositoryNotFoundException; RepositoryPolicyNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_GetRepositoryPolicy.html
    """
    repository = found(tx, caller, "GetRepositoryPolicy", repository_name, registry_id)
    return {**_named(caller, repository), "policyText": _policy(caller, repository)}


@operation("DeleteRepositoryPolicy")
def delete_repository_policy(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None
) -> Document:
    """Take the policy of a repository away.

    Errors: RepositoryNotFoundException; RepositoryPolicyNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_DeleteRepositoryPolicy.html
    """
    repository = found(tx, caller, "DeleteRepositoryPolicy", repository_name, registry_id)
    policy = _policy(caller, repository)
    tx.resources.put(caller.scope, replace(repository, policy=None))
    return {**_named(caller, repository), "policyText": policy}


@operation("PutLifecyclePolicy")
def put_lifecycle_policy(
    tx: Transaction, caller: Caller, *, repository_name: str, lifecycle_policy_text: str,
    registry_id: str | None = None,
) -> Document:  # fmt: skip
    """Store the lifecycle policy of a repository.

    Errors: RepositoryNotFoundException; InvalidParameterException (no JSON object with rules).
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_PutLifecyclePolicy.html
    """
    repository = found(tx, caller, "PutLifecyclePolicy", repository_name, registry_id)
    try:
        rules = load_json(lifecycle_policy_text)["rules"]
    except (ValueError, KeyError, TypeError):
        rules = None
    if not isinstance(rules, list):
        message = "Invalid parameter at 'LifecyclePolicyText' failed to satisfy constraint: 'Lifecycle policy validation failure'"  # noqa: E501 - one sentence.
        raise ServiceError("InvalidParameterException", message)
    tx.resources.put(caller.scope, replace(repository, lifecycle=lifecycle_policy_text))
    return {**_named(caller, repository), "lifecyclePolicyText": lifecycle_policy_text}


@operation("GetLifecyclePolicy")
def get_lifecycle_policy(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None
) -> Document:
    """Return the lifecycle policy of a repository.

    Errors: RepositoryNotFoundException; LifecyclePolicyNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_GetLifecyclePolicy.html
    """
    repository = found(tx, caller, "GetLifecyclePolicy", repository_name, registry_id)
    return {**_named(caller, repository), "lifecyclePolicyText": _lifecycle(caller, repository)}


@operation("DeleteLifecyclePolicy")
def delete_lifecycle_policy(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None
) -> Document:
    """Take the lifecycle policy of a repository away.

    Errors: RepositoryNotFoundException; LifecyclePolicyNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_DeleteLifecyclePolicy.html
    """
    repository = found(tx, caller, "DeleteLifecyclePolicy", repository_name, registry_id)
    text = _lifecycle(caller, repository)
    tx.resources.put(caller.scope, replace(repository, lifecycle=None))
    return {**_named(caller, repository), "lifecyclePolicyText": text}


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tags: Sequence[Document]) -> Document:
    """Add tags to a repository. A tag with an existing key replaces the old tag.

    Errors: RepositoryNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_TagResource.html
    """
    repository = found(tx, caller, "TagResource", _name(resource_arn), None)
    added = {str(tag["Key"]): str(tag["Value"]) for tag in tags}
    tx.resources.put(caller.scope, replace(repository, tags={**repository.tags, **added}))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, resource_arn: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a repository.

    Errors: RepositoryNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_UntagResource.html
    """
    repository = found(tx, caller, "UntagResource", _name(resource_arn), None)
    left = {key: value for key, value in repository.tags.items() if key not in tag_keys}
    tx.resources.put(caller.scope, replace(repository, tags=left))
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """List the tags of a repository.

    Errors: RepositoryNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_ListTagsForResource.html
    """
    repository = found(tx, caller, "ListTagsForResource", _name(resource_arn), None)
    return {"tags": [{"Key": key, "Value": value} for key, value in sorted(repository.tags.items())]}


def _name(arn: str) -> str:
    return arn.rpartition(":repository/")[2]


def _named(caller: Caller, repository: Repository) -> Document:
    return {"registryId": caller.account, "repositoryName": repository.name}


def _policy(caller: Caller, repository: Repository) -> str:
    if repository.policy is None:
        message = f"Repository policy does not exist for the repository with name '{repository.name}' in the registry with id '{caller.account}'"  # noqa: E501 - one sentence.
        raise ServiceError("RepositoryPolicyNotFoundException", message)
    return repository.policy


def _lifecycle(caller: Caller, repository: Repository) -> str:
    if repository.lifecycle is None:
        message = f"Lifecycle policy does not exist for the repository with name '{repository.name}' in the registry with id '{caller.account}'"  # noqa: E501 - one sentence.
        raise ServiceError("LifecyclePolicyNotFoundException", message)
    return repository.lifecycle
