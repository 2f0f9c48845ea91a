"""AWS::Lambda::Version and AWS::Lambda::Alias.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Lambda.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    not_updatable,
)
from redrive.services.cloudformation.types.schema import (
    INTEGER,
    NUMBER,
    TEXT,
    UNAVAILABLE,
    group,
    listing,
    replacing,
    required,
)

_MISSING = frozenset({"ResourceNotFoundException"})

_PROVISIONED = group(ProvisionedConcurrentExecutions=required(INTEGER))


def _create_version(place: Place, properties: Document) -> Existing:
    """Publish a version. AWS refuses a second resource for the same code and configuration of a function."""
    function = properties["FunctionName"]
    before = _last_version(place, function)
    version = place.call(
        "lambda", "PublishVersion", FunctionName=function, CodeSha256=properties.get("CodeSha256"),
        Description=properties.get("Description"),
    )  # fmt: skip
    number, arn = str(version["Version"]), str(version["FunctionArn"])
    if number == before:
        raise ServiceError(
            "AlreadyExistsException",
            f"A version for this Lambda function exists ( {number} ). Modify the function to create a new version.",
        )
    if "RuntimePolicy" in properties:
        place.call(
            "lambda", "PutRuntimeManagementConfig", FunctionName=function, Qualifier=number,
            **properties["RuntimePolicy"],
        )  # fmt: skip
    _provision(place, arn, {}, properties)
    return Existing(arn, properties, {"FunctionArn": arn, "Version": number})


def _last_version(place: Place, function: str) -> str:
    """Return the number of the function's last version; $LATEST if it has none."""
    page = place.call("lambda", "ListVersionsByFunction", FunctionName=function)
    while "NextMarker" in page:
        page = place.call("lambda", "ListVersionsByFunction", FunctionName=function, Marker=page["NextMarker"])
    return str(page["Versions"][-1]["Version"])


def _delete_version(place: Place, existing: Existing) -> None:
    place.call("lambda", "DeleteFunction", FunctionName=existing.physical_id)


def _provision(place: Place, arn: str, old: Document, new: Document) -> None:
    """Apply the provisioned concurrency of a version or an alias."""
    if "ProvisionedConcurrencyConfig" not in changed_keys(old, new):
        return
    function, _, qualifier = arn.rpartition(":")
    config = new.get("ProvisionedConcurrencyConfig")
    if config is None:
        place.call("lambda", "DeleteProvisionedConcurrencyConfig", FunctionName=function, Qualifier=qualifier)
        return
    place.call(
        "lambda", "PutProvisionedConcurrencyConfig", FunctionName=function, Qualifier=qualifier,
        ProvisionedConcurrentExecutions=config["ProvisionedConcurrentExecutions"],
    )  # fmt: skip


def _is_pending(place: Place, existing: Existing) -> bool:
    """Whether provisioned concurrency is still being allocated. A caller without permission to ask does not wait."""
    if "ProvisionedConcurrencyConfig" not in existing.properties:
        return False
    function, _, qualifier = existing.physical_id.rpartition(":")
    try:
        found = place.call("lambda", "GetProvisionedConcurrencyConfig", FunctionName=function, Qualifier=qualifier)
    except ServiceError:
        return False
    return str(found["Status"]) == "IN_PROGRESS"


def _routing(properties: Document) -> Document:
    """Return the weights in the form of the API, where the version is the key."""
    weights = properties.get("RoutingConfig", {}).get("AdditionalVersionWeights", [])
    return {"AdditionalVersionWeights": {one["FunctionVersion"]: one["FunctionWeight"] for one in weights}}


def _create_alias(place: Place, properties: Document) -> Existing:
    alias = place.call(
        "lambda", "CreateAlias", FunctionName=properties["FunctionName"], Name=properties["Name"],
        FunctionVersion=properties["FunctionVersion"], Description=properties.get("Description"),
        RoutingConfig=_routing(properties),
    )  # fmt: skip
    arn = str(alias["AliasArn"])
    _provision(place, arn, {}, properties)
    return Existing(arn, properties, {"AliasArn": arn})


def _update_alias(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call(
        "lambda", "UpdateAlias", FunctionName=properties["FunctionName"], Name=properties["Name"],
        FunctionVersion=properties["FunctionVersion"], Description=properties.get("Description", ""),
        RoutingConfig=_routing(properties),
    )  # fmt: skip
    _provision(place, existing.physical_id, existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_alias(place: Place, existing: Existing) -> None:
    properties = existing.properties
    place.call("lambda", "DeleteAlias", FunctionName=properties["FunctionName"], Name=properties["Name"])


VERSION = ResourceType(
    name="AWS::Lambda::Version",
    properties={
        "CodeSha256": replacing(TEXT),
        "Description": replacing(TEXT),
        "FunctionName": replacing(required(TEXT)),
        "FunctionScalingConfig": UNAVAILABLE,
        "ProvisionedConcurrencyConfig": replacing(_PROVISIONED),
        "RuntimePolicy": replacing(group(RuntimeVersionArn=TEXT, UpdateRuntimeOn=required(TEXT))),
    },
    create=_create_version,
    update=not_updatable,
    delete=_delete_version,
    attributes=frozenset({"FunctionArn", "Version"}),
    missing=_MISSING,
    is_pending=_is_pending,
)

ALIAS = ResourceType(
    name="AWS::Lambda::Alias",
    properties={
        "Description": TEXT,
        "FunctionName": replacing(required(TEXT)),
        "FunctionVersion": required(TEXT),
        "Name": replacing(required(TEXT)),
        "ProvisionedConcurrencyConfig": _PROVISIONED,
        "RoutingConfig": group(
            AdditionalVersionWeights=listing(group(FunctionVersion=required(TEXT), FunctionWeight=required(NUMBER)))
        ),
    },
    create=_create_alias,
    update=_update_alias,
    delete=_delete_alias,
    attributes=frozenset({"AliasArn"}),
    missing=_MISSING,
    is_pending=_is_pending,
)
