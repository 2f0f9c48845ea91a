"""The operations on repositories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.ecr import limits
from redrive.services.ecr.finding import check_registry, found
from redrive.services.ecr.model.repository import Repository, no_such_repository, repository_arn
from redrive.store.api import Transaction

_NAME = re.compile(r"(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-]+[a-z0-9]+)*")


@operation("CreateRepository")
def create_repository(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None,
    tags: Sequence[Document] | None = None, image_tag_mutability: str | None = None,
    image_tag_mutability_exclusion_filters: Sequence[Document] | None = None,
    image_scanning_configuration: Document | None = None, encryption_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Create a repository.

    Errors: RepositoryAlreadyExistsException; InvalidParameterException (the name, another registry, exclusion filters);
    LimitExceededException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html
    """
    tx.services.authorize(tx, caller, "ecr:CreateRepository", repository_arn(caller.scope, repository_name))
    check_registry(caller, registry_id)
    if _NAME.fullmatch(repository_name) is None or image_tag_mutability_exclusion_filters:
        message = f"Invalid parameter at 'repositoryName' failed to satisfy constraint: '{repository_name}'"
        raise ServiceError("InvalidParameterException", message)
    if tx.resources.get(Repository, caller.scope, repository_name) is not None:
        message = (
            f"The repository with name '{repository_name}' already exists in the registry with id '{caller.account}'"
        )
        raise ServiceError("RepositoryAlreadyExistsException", message)
    if tx.resources.count(Repository, caller.scope) >= limits.REPOSITORIES_MAX:
        raise ServiceError("LimitExceededException", "You have reached the limit of repositories.")
    repository = Repository(
        repository_name, tx.now, image_tag_mutability or "MUTABLE",
        bool((image_scanning_configuration or {}).get("scanOnPush")),
        encryption_configuration or {"encryptionType": "AES256"},
        tags={str(tag["Key"]): str(tag["Value"]) for tag in tags or ()},
    )  # fmt: skip
    tx.resources.put(caller.scope, repository)
    return {"repository": repository.described(caller.scope)}


@operation("DescribeRepositories")
def describe_repositories(
    tx: Transaction, caller: Caller, *, registry_id: str | None = None, repository_names: Sequence[str] | None = None,
    next_token: str | None = None, max_results: int | None = None,
) -> Document:  # fmt: skip
    """Describe the named repositories, or all of them in pages.

    Errors: RepositoryNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_DescribeRepositories.html
    """
    tx.services.authorize(tx, caller, "ecr:DescribeRepositories", repository_arn(caller.scope, "*"))
    check_registry(caller, registry_id)
    if repository_names:
        named = [(name, tx.resources.get(Repository, caller.scope, name)) for name in repository_names]
        for name, one in named:
            if one is None:
                raise no_such_repository(caller.account, name)
        return {"repositories": [one.described(caller.scope) for _, one in named if one is not None]}
    count = max_results or limits.PAGE
    page = tx.resources.list(Repository, caller.scope, after=next_token or "", limit=count + 1)
    shown = [repository.described(caller.scope) for repository in page[:count]]
    return {"repositories": shown, "nextToken": page[count - 1].name if len(page) > count else None}


@operation("DeleteRepository")
def delete_repository(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None,
    force: bool | None = None,  # noqa: ARG001 - every repository is empty.
) -> Document:  # fmt: skip
    """Delete a repository. It is empty, so that nothing has to be forced.

    Errors: RepositoryNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_DeleteRepository.html
    """
    repository = found(tx, caller, "DeleteRepository", repository_name, registry_id)
    tx.resources.delete(Repository, caller.scope, repository.name)
    return {"repository": repository.described(caller.scope)}


@operation("DescribeImages")
def describe_images(
    tx: Transaction, caller: Caller, *, repository_name: str, registry_id: str | None = None,
    image_ids: Sequence[Document] | None = None,
    next_token: str | None = None,  # noqa: ARG001 - there is one page, which is empty.
    max_results: int | None = None,  # noqa: ARG001 - as above.
    filter: Document | None = None,  # noqa: ARG001 - as above.
) -> Document:  # fmt: skip
    """List no images: no repository holds any.

    Errors: RepositoryNotFoundException; ImageNotFoundException (an image is asked for); InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_DescribeImages.html
    """
    found(tx, caller, "DescribeImages", repository_name, registry_id)
    if image_ids:
        message = f"The image does not exist within the repository with name '{repository_name}'"
        raise ServiceError("ImageNotFoundException", message)
    return {"imageDetails": []}


@operation("PutImageTagMutability")
def put_image_tag_mutability(
    tx: Transaction, caller: Caller, *, repository_name: str, image_tag_mutability: str,
    registry_id: str | None = None,
    image_tag_mutability_exclusion_filters: Sequence[Document] | None = None,  # noqa: ARG001 - there are no images.
) -> Document:  # fmt: skip
    """Set whether tags of images can be overwritten.

    Errors: RepositoryNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_PutImageTagMutability.html
    """
    repository = found(tx, caller, "PutImageTagMutability", repository_name, registry_id)
    tx.resources.put(caller.scope, replace(repository, mutability=image_tag_mutability))
    named = {"registryId": caller.account, "repositoryName": repository_name}
    return {**named, "imageTagMutability": image_tag_mutability}


@operation("PutImageScanningConfiguration")
def put_image_scanning_configuration(
    tx: Transaction, caller: Caller, *, repository_name: str, image_scanning_configuration: Document,
    registry_id: str | None = None,
) -> Document:  # fmt: skip
    """Set whether images are scanned.

    Errors: RepositoryNotFoundException; InvalidParameterException.
    Source: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_PutImageScanningConfiguration.html
    """
    repository = found(tx, caller, "PutImageScanningConfiguration", repository_name, registry_id)
    scans = bool(image_scanning_configuration.get("scanOnPush"))
    tx.resources.put(caller.scope, replace(repository, scan_on_push=scans))
    named = {"registryId": caller.account, "repositoryName": repository_name}
    return {**named, "imageScanningConfiguration": {"scanOnPush": scans}}
