"""AWS::S3::Bucket and AWS::S3::BucketPolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_S3.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.types import bucket_documents as documents
from redrive.services.cloudformation.types.bucket_schema import PROPERTIES
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    already_exists,
    changed_keys,
    exists,
)
from redrive.services.cloudformation.types.schema import JSON, TEXT, PropertyError, as_text, replacing, required

_TYPE = "AWS::S3::Bucket"
_MISSING = frozenset({"NoSuchBucket"})
_POLICY_MISSING = frozenset({"NoSuchBucketPolicy", "NoSuchBucket"})

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_NAME_LENGTH_MAX = 63
_FIRST_REGION = "us-east-1"
"""The only Region that CreateBucket does not name as a LocationConstraint."""

_PRIVATE = "private"
_ACCOUNT_REGIONAL = "account-regional"

_DASH_REGIONS = frozenset(
    {
        "ap-northeast-1", "ap-southeast-1", "ap-southeast-2", "eu-west-1", "sa-east-1", "us-east-1", "us-gov-west-1",
        "us-west-1", "us-west-2",
    }
)  # fmt: skip
"""The Regions whose website hosts are `s3-website-REGION`; elsewhere they are `s3-website.REGION`.

Source: https://docs.aws.amazon.com/general/latest/gr/s3.html#s3_website_region_endpoints
"""


@dataclass(frozen=True, slots=True)
class _Setting:
    """A property that is one sub-resource: its operation, the parameter, and what a removed property becomes.

    `cleared` is the name of the operation that deletes the sub-resource, or the document that stands for none.
    """

    operation: str
    parameter: str
    document: Callable[[Document], Document]
    cleared: str | Document


# In this order: a policy or an ACL is checked against the ownership and the public access of the bucket, object lock
# needs versioning.
_SETTINGS: Mapping[str, _Setting] = {
    "OwnershipControls": _Setting("PutBucketOwnershipControls", "OwnershipControls", dict,
                                  "DeleteBucketOwnershipControls"),
    "PublicAccessBlockConfiguration": _Setting("PutPublicAccessBlock", "PublicAccessBlockConfiguration",
                                               documents.public_access, "DeletePublicAccessBlock"),
    "VersioningConfiguration": _Setting("PutBucketVersioning", "VersioningConfiguration", dict,
                                        {"Status": "Suspended"}),
    "BucketEncryption": _Setting("PutBucketEncryption", "ServerSideEncryptionConfiguration", documents.encryption,
                                 "DeleteBucketEncryption"),
    "ObjectLockConfiguration": _Setting("PutObjectLockConfiguration", "ObjectLockConfiguration",
                                        documents.object_lock, {"ObjectLockEnabled": "Enabled"}),
    "CorsConfiguration": _Setting("PutBucketCors", "CORSConfiguration", documents.cors, "DeleteBucketCors"),
    "AccelerateConfiguration": _Setting("PutBucketAccelerateConfiguration", "AccelerateConfiguration",
                                        lambda given: {"Status": given["AccelerationStatus"]},
                                        {"Status": "Suspended"}),
    "NotificationConfiguration": _Setting("PutBucketNotificationConfiguration", "NotificationConfiguration",
                                          documents.notification, {}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A property that is a list of sub-resources, each with an id."""

    put: str
    parameter: str
    document: Callable[[Document], Document]
    delete: str


_LISTS: Mapping[str, _Numbered] = {
    f"{noun}Configurations": _Numbered(
        f"PutBucket{noun}Configuration", f"{noun}Configuration", document, f"DeleteBucket{noun}Configuration"
    )
    for noun, document in (
        ("Analytics", documents.analytics),
        ("IntelligentTiering", documents.tiering),
        ("Inventory", documents.inventory),
        ("Metrics", documents.metrics),
    )
}


def _bucket_name(place: Place, properties: Document) -> str:
    """Return the name in the template, the prefix's name in the account's own namespace, or a generated one."""
    given: str | None = properties.get("BucketName")
    prefix: str | None = properties.get("BucketNamePrefix")
    if given is not None and prefix is not None:
        raise PropertyError("Only one of BucketName and BucketNamePrefix can be specified.")
    if prefix is not None:
        return f"{prefix.rstrip('-')}-{place.caller.account}-{place.caller.region}-an"
    # The random part comes last, and has to survive; the rest is in lower case, as S3 wants every name.
    return given or place.name(None, _NAME_LENGTH_MAX).lower()


def _create(place: Place, properties: Document) -> Existing:
    name = _bucket_name(place, properties)
    if _is_taken(place, name):
        raise already_exists(_TYPE, name)
    region = place.caller.region
    place.call(
        "s3", "CreateBucket", Bucket=name, ACL=_PRIVATE if properties.get("AccessControl") == "Private" else None,
        CreateBucketConfiguration=None if region == _FIRST_REGION else {"LocationConstraint": region},
        ObjectLockEnabledForBucket=properties.get("ObjectLockEnabled"),
        ObjectOwnership=_ownership(properties),
        BucketNamespace=_ACCOUNT_REGIONAL if "BucketNamePrefix" in properties else properties.get("BucketNamespace"),
    )  # fmt: skip
    # What the bucket was created with does not differ any more.
    done: Document = {key: properties[key] for key in ("OwnershipControls", "ObjectLockEnabled") if key in properties}
    if properties.get("AccessControl") == "Private":
        done["AccessControl"] = "Private"
    _settle(place, name, done, properties)
    return Existing(name, properties, _attributes(name, region))


def _found(place: Place, name: str) -> Document | None:
    return _attributes(name, place.caller.region) if _is_taken(place, name) else None


def _is_taken(place: Place, name: str) -> bool:
    """Whether the caller sees a bucket with this name. In us-east-1, S3 itself does not refuse to create it again."""
    try:
        return exists(place, _MISSING, "s3", "HeadBucket", Bucket=name)
    except ServiceError as error:
        if error.http_status == 403:
            return False  # CreateBucket says whether somebody else has the name.
        raise


def _ownership(properties: Document) -> str | None:
    rules = properties.get("OwnershipControls", {}).get("Rules", ())
    found: str | None = next((rule.get("ObjectOwnership") for rule in rules), None)
    return found


def _attributes(name: str, region: str) -> Document:
    """The addresses of a bucket. Source: https://docs.aws.amazon.com/general/latest/gr/s3.html"""
    separator = "-" if region in _DASH_REGIONS else "."
    return {
        "Arn": f"arn:aws:s3:::{name}",
        "DomainName": f"{name}.s3.amazonaws.com",
        "DualStackDomainName": f"{name}.s3.dualstack.{region}.amazonaws.com",
        "RegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
        "WebsiteURL": f"http://{name}.s3-website{separator}{region}.amazonaws.com",
    }


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    name = existing.physical_id
    if existing.properties.get("ObjectLockEnabled") and not properties.get("ObjectLockEnabled"):
        raise PropertyError("Object Lock cannot be disabled once it is enabled on a bucket.")
    if properties.get("ObjectLockEnabled") and not existing.properties.get("ObjectLockEnabled"):
        enabled = {"ObjectLockEnabled": "Enabled"}
        place.call("s3", "PutObjectLockConfiguration", Bucket=name, ObjectLockConfiguration=enabled)
    _settle(place, name, existing.properties, properties)
    return Existing(name, properties, existing.attributes)


def _settle(place: Place, name: str, old: Document, new: Document) -> None:
    """Put each sub-resource that differs, and clear each that the template no longer has."""
    changed = changed_keys(old, new)
    for key, setting in _SETTINGS.items():
        if key in changed:
            _put(place, name, setting, new.get(key))
    _settle_others(place, name, changed, new)
    for key, numbered in _LISTS.items():
        if key in changed:
            _put_all(place, name, numbered, old.get(key, ()), new.get(key, ()))


def _put(place: Place, name: str, setting: _Setting, given: Document | None) -> None:
    if given is None and isinstance(setting.cleared, str):
        place.call("s3", setting.cleared, Bucket=name)
        return
    document = setting.cleared if given is None else setting.document(given)
    place.call("s3", setting.operation, Bucket=name, **{setting.parameter: document})


def _settle_others(place: Place, name: str, changed: set[str], new: Document) -> None:
    """Put the sub-resources whose operations are of another shape."""
    if "AccessControl" in changed:
        _put_acl(place, name, _canned(str(new.get("AccessControl", "Private"))))
    if "AbacStatus" in changed:
        place.call("s3", "PutBucketAbac", Bucket=name, AbacStatus={"Status": new.get("AbacStatus", "Disabled")})
    if "LifecycleConfiguration" in changed:
        _put_lifecycle(place, name, new.get("LifecycleConfiguration"))
    if "LoggingConfiguration" in changed:
        given = new.get("LoggingConfiguration")
        status = {} if given is None else documents.logging(given, name)
        place.call("s3", "PutBucketLogging", Bucket=name, BucketLoggingStatus=status)
    if "Tags" in changed:
        if new.get("Tags"):
            place.call("s3", "PutBucketTagging", Bucket=name, Tagging={"TagSet": new["Tags"]})
        else:
            place.call("s3", "DeleteBucketTagging", Bucket=name)


def _put_acl(place: Place, name: str, acl: str) -> None:
    try:
        place.call("s3", "PutBucketAcl", Bucket=name, ACL=acl)
    except ServiceError as error:
        # Without ACLs, a bucket is its owner's alone.
        if acl != _PRIVATE or error.code != "AccessControlListNotSupported":
            raise


def _put_lifecycle(place: Place, name: str, given: Document | None) -> None:
    if given is None:
        place.call("s3", "DeleteBucketLifecycle", Bucket=name)
        return
    place.call(
        "s3", "PutBucketLifecycleConfiguration", Bucket=name, LifecycleConfiguration=documents.lifecycle(given),
        TransitionDefaultMinimumObjectSize=given.get("TransitionDefaultMinimumObjectSize"),
    )  # fmt: skip


def _canned(name: str) -> str:
    """The name of a canned ACL as S3 spells it: `PublicReadWrite` is `public-read-write`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _put_all(place: Place, name: str, kind: _Numbered, old: list[Document], new: list[Document]) -> None:
    before = {each["Id"]: each for each in old}
    after = {each["Id"]: each for each in new}
    for gone in sorted(before.keys() - after.keys()):
        place.call("s3", kind.delete, Bucket=name, Id=gone)
    for key, each in after.items():
        if before.get(key) != each:
            place.call("s3", kind.put, Bucket=name, Id=key, **{kind.parameter: kind.document(each)})


def _delete(place: Place, existing: Existing) -> None:
    place.call("s3", "DeleteBucket", Bucket=existing.physical_id)


def _create_policy(place: Place, properties: Document) -> Existing:
    bucket = str(properties["Bucket"])
    if exists(place, frozenset({"NoSuchBucketPolicy"}), "s3", "GetBucketPolicy", Bucket=bucket):
        raise ServiceError("AlreadyExistsException", f"The bucket policy already exists on bucket {bucket}.")
    return _put_policy(place, Existing(bucket, properties, {}), properties)


def _put_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call("s3", "PutBucketPolicy", Bucket=existing.physical_id, Policy=as_text(properties["PolicyDocument"]))
    return Existing(existing.physical_id, properties, {})


def _delete_policy(place: Place, existing: Existing) -> None:
    place.call("s3", "DeleteBucketPolicy", Bucket=existing.physical_id)


BUCKET = ResourceType(
    name=_TYPE,
    properties=PROPERTIES,
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn", "DomainName", "DualStackDomainName", "RegionalDomainName", "WebsiteURL"}),
    name_property="BucketName",
    found=_found,
    has_tags=True,
    missing=_MISSING,
)

BUCKET_POLICY = ResourceType(
    name="AWS::S3::BucketPolicy",
    properties={"Bucket": replacing(required(TEXT)), "PolicyDocument": required(JSON)},
    create=_create_policy,
    update=_put_policy,
    delete=_delete_policy,
    missing=_POLICY_MISSING,
)
