"""The sub-resources of a bucket: a template's properties as the documents that S3's operations take.

All functions here are pure. The names differ in most places: a template says `CorsRules` where S3 says `CORSRules`.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant, parse_instant
from redrive.core.documents import Document
from redrive.services.cloudformation.types.schema import PropertyError

_PUBLIC_ACCESS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")


def _renamed(given: Document, names: Mapping[str, str]) -> Document:
    """Return the members that are given, by the names that S3 has for them."""
    return {theirs: given[ours] for ours, theirs in names.items() if ours in given}


def _filter(prefix: str | None, tags: Sequence[Document], more: Document) -> Document:
    """Return the filter of several conditions; S3 wants `And` where there are two or more."""
    conditions: Document = {} if prefix is None else {"Prefix": prefix}
    conditions |= more
    if len(conditions) + len(tags) > 1:
        return {"And": {**conditions, **({"Tags": list(tags)} if tags else {})}}
    return {"Tag": dict(tags[0])} if tags else conditions


def encryption(given: Document) -> Document:
    """The rules of the default encryption."""
    names = {
        "BlockedEncryptionTypes": "BlockedEncryptionTypes",
        "BucketKeyEnabled": "BucketKeyEnabled",
        "ServerSideEncryptionByDefault": "ApplyServerSideEncryptionByDefault",
    }
    return {"Rules": [_renamed(rule, names) for rule in given["ServerSideEncryptionConfiguration"]]}


def cors(given: Document) -> Document:
    """The rules of CORS."""
    names = {
        "AllowedHeaders": "AllowedHeaders",
        "AllowedMethods": "AllowedMethods",
        "AllowedOrigins": "AllowedOrigins",
        "ExposedHeaders": "ExposeHeaders",
        "Id": "ID",
        "MaxAge": "MaxAgeSeconds",
    }
    return {"CORSRules": [_renamed(rule, names) for rule in given["CorsRules"]]}


def lifecycle(given: Document) -> Document:
    """The rules of the lifecycle. Errors: PropertyError (a date or a size that is none)."""
    return {"Rules": [_lifecycle_rule(rule) for rule in given["Rules"]]}


def _lifecycle_rule(given: Document) -> Document:
    rule = _renamed(
        given,
        {"AbortIncompleteMultipartUpload": "AbortIncompleteMultipartUpload", "Id": "ID", "Status": "Status"},
    )
    sizes: Document = {
        name: _size(name, str(given[name]))
        for name in ("ObjectSizeGreaterThan", "ObjectSizeLessThan")
        if name in given
    }  # fmt: skip
    rule["Filter"] = _filter(given.get("Prefix"), given.get("TagFilters", ()), sizes) or {"Prefix": ""}
    expiration = _renamed(
        given, {"ExpirationInDays": "Days", "ExpiredObjectDeleteMarker": "ExpiredObjectDeleteMarker"}
    )  # fmt: skip
    if "ExpirationDate" in given:
        expiration["Date"] = _date("ExpirationDate", str(given["ExpirationDate"]))
    if expiration:
        rule["Expiration"] = expiration
    transitions = [*given.get("Transitions", ()), *([given["Transition"]] if "Transition" in given else ())]
    if transitions:
        rule["Transitions"] = [_transition(each) for each in transitions]
    return rule | _noncurrent(given)


def _noncurrent(given: Document) -> Document:
    """The parts of a lifecycle rule that are about noncurrent versions."""
    found: Document = {}
    if "NoncurrentVersionExpirationInDays" in given:
        found["NoncurrentVersionExpiration"] = {"NoncurrentDays": given["NoncurrentVersionExpirationInDays"]}
    if "NoncurrentVersionExpiration" in given:
        found["NoncurrentVersionExpiration"] = dict(given["NoncurrentVersionExpiration"])
    single = [given["NoncurrentVersionTransition"]] if "NoncurrentVersionTransition" in given else []
    moves = [*given.get("NoncurrentVersionTransitions", ()), *single]
    names = {
        "NewerNoncurrentVersions": "NewerNoncurrentVersions",
        "StorageClass": "StorageClass",
        "TransitionInDays": "NoncurrentDays",
    }
    if moves:
        found["NoncurrentVersionTransitions"] = [_renamed(each, names) for each in moves]
    return found


def _transition(given: Document) -> Document:
    move = _renamed(given, {"StorageClass": "StorageClass", "TransitionInDays": "Days"})
    if "TransitionDate" in given:
        move["Date"] = _date("TransitionDate", str(given["TransitionDate"]))
    return move


def _date(name: str, text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        raise PropertyError(f"{name}: {text} is not a date in ISO 8601, such as 2030-01-31T00:00:00Z.") from None


def _size(name: str, text: str) -> int:
    if not text.isdecimal():
        raise PropertyError(f"{name}: {text} is not a number of bytes.")
    return int(text)


def logging(given: Document, bucket: str) -> Document:
    """Where the logs of access go; without a destination, to the bucket itself."""
    enabled: Document = {
        "TargetBucket": given.get("DestinationBucketName", bucket), "TargetPrefix": given.get("LogFilePrefix", ""),
    }  # fmt: skip
    return {"LoggingEnabled": enabled | _renamed(given, {"TargetObjectKeyFormat": "TargetObjectKeyFormat"})}


_TARGETS = (
    ("LambdaConfigurations", "LambdaFunctionConfigurations", "Function", "LambdaFunctionArn"),
    ("QueueConfigurations", "QueueConfigurations", "Queue", "QueueArn"),
    ("TopicConfigurations", "TopicConfigurations", "Topic", "TopicArn"),
)


def notification(given: Document) -> Document:
    """Whom the bucket tells of what."""
    found: Document = {}
    for ours, theirs, member, arn in _TARGETS:
        if given.get(ours):
            found[theirs] = [_told(each, member, arn) for each in given[ours]]
    # A template says EventBridgeEnabled; S3's own document only has or lacks the empty element.
    if given.get("EventBridgeConfiguration", {}).get("EventBridgeEnabled"):
        found["EventBridgeConfiguration"] = {}
    return found


def _told(given: Document, member: str, arn: str) -> Document:
    told: Document = {arn: given[member], "Events": [given["Event"]]}
    if "Filter" in given:
        told["Filter"] = {"Key": {"FilterRules": [dict(rule) for rule in given["Filter"]["S3Key"]["Rules"]]}}
    return told


def object_lock(given: Document) -> Document:
    """The configuration of object lock."""
    return {"ObjectLockEnabled": given.get("ObjectLockEnabled", "Enabled"), **_renamed(given, {"Rule": "Rule"})}


def public_access(given: Document) -> Document:
    """The block of public access; what a template does not name is off."""
    return {name: bool(given.get(name)) for name in _PUBLIC_ACCESS}


def analytics(given: Document) -> Document:
    """One configuration of analytics."""
    export = given["StorageClassAnalysis"].get("DataExport")
    analysis: Document = {}
    if export is not None:
        destination = {"S3BucketDestination": _destination(export["Destination"], "BucketAccountId")}
        analysis["DataExport"] = {
            "OutputSchemaVersion": export["OutputSchemaVersion"], "Destination": destination,
        }  # fmt: skip
    return _with_filter({"Id": given["Id"], "StorageClassAnalysis": analysis}, given, {})


def metrics(given: Document) -> Document:
    """One configuration of metrics."""
    return _with_filter({"Id": given["Id"]}, given, _renamed(given, {"AccessPointArn": "AccessPointArn"}))


def tiering(given: Document) -> Document:
    """One configuration of intelligent tiering."""
    kept = {name: given[name] for name in ("Id", "Status", "Tierings")}
    return _with_filter(kept, given, {})


def inventory(given: Document) -> Document:
    """One configuration of an inventory."""
    found: Document = {
        "Id": given["Id"],
        "IsEnabled": given["Enabled"],
        "Destination": {"S3BucketDestination": _destination(given["Destination"], "AccountId")},
        "IncludedObjectVersions": given["IncludedObjectVersions"],
        "Schedule": {"Frequency": given["ScheduleFrequency"]},
    }
    if "Prefix" in given:
        found["Filter"] = {"Prefix": given["Prefix"]}
    return found | _renamed(given, {"OptionalFields": "OptionalFields"})


def _with_filter(document: Document, given: Document, more: Document) -> Document:
    found = _filter(given.get("Prefix"), given.get("TagFilters", ()), more)
    return {**document, "Filter": found} if found else document


def _destination(given: Document, account: str) -> Document:
    return _renamed(
        given, {"BucketArn": "Bucket", "Format": "Format", "Prefix": "Prefix", "BucketAccountId": account}
    )  # fmt: skip
