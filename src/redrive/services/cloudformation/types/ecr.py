"""AWS::ECR::Repository.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecr-repository.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    read,
    tag_changes,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    JSON,
    TAGS,
    TEXT,
    UNAVAILABLE,
    as_text,
    group,
    replacing,
)

_NAME_LENGTH_MAX = 256
_MISSING = frozenset({"RepositoryNotFoundException"})


def _create(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("RepositoryName"), _NAME_LENGTH_MAX).lower()
    made = place.call(
        "ecr", "CreateRepository", repositoryName=name, tags=properties.get("Tags"),
        imageTagMutability=properties.get("ImageTagMutability"),
        imageScanningConfiguration=_scanning(properties),
    )["repository"]  # fmt: skip
    _set_policies(place, name, properties, {"LifecyclePolicy", "RepositoryPolicyText"} & properties.keys())
    return Existing(name, properties, _attributes(made))


def _attributes(repository: Document) -> Document:
    return {"Arn": repository["repositoryArn"], "RepositoryUri": repository["repositoryUri"]}


def _found(place: Place, name: str) -> Document | None:
    described = read(place, _MISSING, "ecr", "DescribeRepositories", repositoryNames=[name])
    return None if described is None else _attributes(described["repositories"][0])


def _scanning(properties: Document) -> Document | None:
    given = properties.get("ImageScanningConfiguration")
    return None if given is None else {"scanOnPush": bool(given.get("ScanOnPush"))}


def _set_policies(place: Place, name: str, properties: Document, changed: set[str]) -> None:
    """Put or remove the policies that have changed."""
    if "LifecyclePolicy" in changed:
        text = (properties.get("LifecyclePolicy") or {}).get("LifecyclePolicyText")
        if text is None:
            place.call("ecr", "DeleteLifecyclePolicy", repositoryName=name)
        else:
            place.call("ecr", "PutLifecyclePolicy", repositoryName=name, lifecyclePolicyText=text)
    if "RepositoryPolicyText" in changed:
        policy = properties.get("RepositoryPolicyText")
        if policy is None:
            place.call("ecr", "DeleteRepositoryPolicy", repositoryName=name)
        else:
            place.call("ecr", "SetRepositoryPolicy", repositoryName=name, policyText=as_text(policy))


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    name, changed = existing.physical_id, changed_keys(existing.properties, properties)
    _set_policies(place, name, properties, changed)
    if "ImageTagMutability" in changed:
        mutability = properties.get("ImageTagMutability", "MUTABLE")
        place.call("ecr", "PutImageTagMutability", repositoryName=name, imageTagMutability=mutability)
    if "ImageScanningConfiguration" in changed:
        scanning = _scanning(properties) or {"scanOnPush": False}
        place.call("ecr", "PutImageScanningConfiguration", repositoryName=name, imageScanningConfiguration=scanning)
    tags, removed = tag_changes(existing.properties, properties)
    arn = existing.attributes["Arn"]
    if removed:
        place.call("ecr", "UntagResource", resourceArn=arn, tagKeys=removed)
    if tags:
        given = [{"Key": key, "Value": value} for key, value in tags.items()]
        place.call("ecr", "TagResource", resourceArn=arn, tags=given)
    return Existing(name, properties, existing.attributes)


def _delete(place: Place, existing: Existing) -> None:
    place.call("ecr", "DeleteRepository", repositoryName=existing.physical_id)


REPOSITORY = ResourceType(
    name="AWS::ECR::Repository",
    properties={
        "EmptyOnDelete": BOOLEAN,
        "EncryptionConfiguration": replacing(JSON),
        "ImageScanningConfiguration": group(ScanOnPush=BOOLEAN),
        "ImageTagMutability": TEXT,
        "ImageTagMutabilityExclusionFilters": UNAVAILABLE,
        "LifecyclePolicy": group(LifecyclePolicyText=TEXT, RegistryId=TEXT),
        "RepositoryName": replacing(TEXT),
        "RepositoryPolicyText": JSON,
        "Tags": TAGS,
    },
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn", "RepositoryUri"}),
    name_property="RepositoryName",
    found=_found,
    has_tags=True,
    missing=_MISSING,
)
