"""AWS::DynamoDB::Table.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
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
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    UNAVAILABLE,
    PropertyError,
    as_text,
    group,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
_NAME_LENGTH_MAX = 255
_MISSING = frozenset({"ResourceNotFoundException"})

_KEY_SCHEMA = listing(group(AttributeName=required(TEXT), KeyType=required(TEXT)))
_PROJECTION = group(NonKeyAttributes=listing(TEXT), ProjectionType=TEXT)
_THROUGHPUT = group(ReadCapacityUnits=required(INTEGER), WriteCapacityUnits=required(INTEGER))
_ON_DEMAND = group(MaxReadRequestUnits=INTEGER, MaxWriteRequestUnits=INTEGER)
_WARM = group(ReadUnitsPerSecond=INTEGER, WriteUnitsPerSecond=INTEGER)
_INSIGHTS = group(Enabled=required(BOOLEAN), Mode=TEXT)

# Properties that the operations accept as they are. The others need another operation or another form.
_PLAIN = (
    "AttributeDefinitions", "BillingMode", "DeletionProtectionEnabled", "OnDemandThroughput", "ProvisionedThroughput",
    "TableClass", "WarmThroughput",
)  # fmt: skip
_DEFAULTS: Document = {
    "BillingMode": "PROVISIONED",
    "DeletionProtectionEnabled": False,
    "SSESpecification": {"Enabled": False},
    "StreamSpecification": {"StreamEnabled": False},
    "TableClass": "STANDARD",
}
_INDEXES = "GlobalSecondaryIndexes"


def _parameters(properties: Document, names: set[str]) -> Document:
    """Return these properties in the API's form."""
    chosen: Document = {name: properties.get(name, _DEFAULTS.get(name)) for name in _PLAIN if name in names}
    for name, switch in (("SSESpecification", "SSEEnabled"), ("StreamSpecification", "StreamEnabled")):
        if name in names:
            chosen[name] = _switched(properties[name], switch) if name in properties else _DEFAULTS[name]
    return chosen


def _switched(specification: Document, switch: str) -> Document:
    """Return a specification with an explicit switch; without one, the specification counts as on."""
    rest = {name: value for name, value in specification.items() if name not in ("ResourcePolicy", switch)}
    return {"Enabled" if switch == "SSEEnabled" else switch: specification.get(switch, True), **rest}


def _create_table(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("TableName"), _NAME_LENGTH_MAX)
    policy = properties.get("ResourcePolicy")
    created = place.call(
        "dynamodb", "CreateTable", TableName=name, KeySchema=properties["KeySchema"], Tags=properties.get("Tags"),
        LocalSecondaryIndexes=properties.get("LocalSecondaryIndexes"), GlobalSecondaryIndexes=properties.get(_INDEXES),
        ResourcePolicy=as_text(policy["PolicyDocument"]) if policy else None,
        **_parameters(properties, set(properties)),
    )  # fmt: skip
    _settings(place, name, {}, properties)
    return Existing(name, properties, _attributes(created["TableDescription"]))


def _found(place: Place, name: str) -> Document | None:
    described = read(place, _MISSING, "dynamodb", "DescribeTable", TableName=name)
    return None if described is None else _attributes(described["Table"])


def _attributes(description: Document) -> Document:
    stream = {"StreamArn": description["LatestStreamArn"]} if "LatestStreamArn" in description else {}
    return {"Arn": description["TableArn"], **stream}


def _update_table(place: Place, existing: Existing, properties: Document) -> Existing:
    name, old = existing.physical_id, existing.properties
    changed = changed_keys(old, properties)
    parameters = _parameters(properties, changed)
    if _INDEXES in changed:
        parameters["GlobalSecondaryIndexUpdates"] = _index_changes(old.get(_INDEXES, []), properties.get(_INDEXES, []))
        parameters["AttributeDefinitions"] = properties.get("AttributeDefinitions")
    if "StreamSpecification" in changed and "StreamSpecification" in old and "StreamSpecification" in properties:
        # A stream keeps its view type, so another one begins.
        disabled = _DEFAULTS["StreamSpecification"]
        place.call("dynamodb", "UpdateTable", TableName=name, StreamSpecification=disabled)
    if parameters:
        place.call("dynamodb", "UpdateTable", TableName=name, **parameters)
    _settings(place, name, old, properties)
    arn = existing.attributes["Arn"]
    set_tags, removed = tag_changes(old, properties)
    if removed:
        place.call("dynamodb", "UntagResource", ResourceArn=arn, TagKeys=removed)
    if set_tags:
        tags = [{"Key": key, "Value": value} for key, value in set_tags.items()]
        place.call("dynamodb", "TagResource", ResourceArn=arn, Tags=tags)
    described = place.call("dynamodb", "DescribeTable", TableName=name)
    return Existing(name, properties, _attributes(described["Table"]))


def _index_changes(old: list[Document], new: list[Document]) -> list[Document]:
    """Return the steps from one set of global secondary indexes to another; a changed index is created again.

    Errors: PropertyError for more than one new or removed index, because UpdateTable changes one at a time.
    """
    before, after = ({index["IndexName"]: index for index in indexes} for indexes in (old, new))
    gone = [{"Delete": {"IndexName": name}} for name in before if name not in after]
    added = [{"Create": index} for name, index in after.items() if name not in before]
    if len(gone) + len(added) > 1:
        raise PropertyError("Cannot perform more than one GSI creation or deletion in a single update")
    updated = []
    for name, index in after.items():
        changed = changed_keys(before.get(name, index), index)
        if changed - {"ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput"}:
            raise PropertyError(
                f"Cannot update GSI's properties other than Provisioned Throughput and Contributor Insights "
                f"Specification. You can create a new GSI with a different name: {name}"
            )
        if changed:
            settings = {key: index[key] for key in sorted(changed & index.keys())}
            updated.append({"Update": {"IndexName": name, **settings}})
    return gone + added + updated


def _settings(place: Place, name: str, old: Document, new: Document) -> None:
    """Apply the settings of a table that have operations of their own."""
    changed = changed_keys(old, new)
    if "TimeToLiveSpecification" in changed:
        for settings in _time_to_live(old.get("TimeToLiveSpecification"), new.get("TimeToLiveSpecification")):
            place.call("dynamodb", "UpdateTimeToLive", TableName=name, TimeToLiveSpecification=settings)
    if "PointInTimeRecoverySpecification" in changed:
        recovery = new.get("PointInTimeRecoverySpecification", {"PointInTimeRecoveryEnabled": False})
        place.call(
            "dynamodb", "UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=recovery
        )  # fmt: skip
    if "ContributorInsightsSpecification" in changed:
        insights = new.get("ContributorInsightsSpecification", {"Enabled": False})
        action = "ENABLE" if insights["Enabled"] else "DISABLE"
        place.call("dynamodb", "UpdateContributorInsights", TableName=name, ContributorInsightsAction=action)
    if "KinesisStreamSpecification" in changed:
        stream = new.get("KinesisStreamSpecification") or old["KinesisStreamSpecification"]
        verb = "Enable" if "KinesisStreamSpecification" in new else "Disable"
        place.call("dynamodb", f"{verb}KinesisStreamingDestination", TableName=name, StreamArn=stream["StreamArn"])
    if old and "ResourcePolicy" in changed:
        raise PropertyError("ResourcePolicy cannot be changed here: tables have no resource policies.")


def _time_to_live(old: Document | None, new: Document | None) -> list[Document]:
    """Return the settings to make in order, to get from the old one to the new; a new table starts with it off."""
    was_on, is_on = (bool(settings and settings["Enabled"]) for settings in (old, new))
    steps: list[Document] = []
    if old and was_on:
        steps.append({**old, "Enabled": False})
    if new and is_on:
        steps.append(new)
    return steps


def _delete_table(place: Place, existing: Existing) -> None:
    place.call("dynamodb", "DeleteTable", TableName=existing.physical_id)


TABLE = ResourceType(
    name="AWS::DynamoDB::Table",
    properties={
        "AttributeDefinitions": listing(group(AttributeName=required(TEXT), AttributeType=required(TEXT))),
        "BillingMode": TEXT,
        "ContributorInsightsSpecification": _INSIGHTS,
        "DeletionProtectionEnabled": BOOLEAN,
        "GlobalSecondaryIndexes": listing(
            group(
                ContributorInsightsSpecification=_INSIGHTS,
                IndexName=required(TEXT),
                KeySchema=required(_KEY_SCHEMA),
                OnDemandThroughput=_ON_DEMAND,
                Projection=required(_PROJECTION),
                ProvisionedThroughput=_THROUGHPUT,
                WarmThroughput=_WARM,
            )
        ),
        "ImportSourceSpecification": replacing(UNAVAILABLE),
        "KeySchema": replacing(required(_KEY_SCHEMA)),
        "KinesisStreamSpecification": group(StreamArn=required(TEXT), ApproximateCreationDateTimePrecision=TEXT),
        "LocalSecondaryIndexes": replacing(
            listing(
                group(
                    IndexName=required(TEXT),
                    KeySchema=required(_KEY_SCHEMA),
                    Projection=required(_PROJECTION),
                )
            )
        ),
        "OnDemandThroughput": _ON_DEMAND,
        "PointInTimeRecoverySpecification": group(PointInTimeRecoveryEnabled=BOOLEAN, RecoveryPeriodInDays=INTEGER),
        "ProvisionedThroughput": _THROUGHPUT,
        "ResourcePolicy": group(PolicyDocument=required(JSON)),
        "SSESpecification": group(KMSMasterKeyId=TEXT, SSEEnabled=required(BOOLEAN), SSEType=TEXT),
        "StreamSpecification": group(
            ResourcePolicy=group(PolicyDocument=required(JSON)), StreamViewType=required(TEXT), Tags=UNAVAILABLE
        ),
        "TableClass": TEXT,
        "TableName": replacing(TEXT),
        "Tags": TAGS,
        "TimeToLiveSpecification": group(AttributeName=TEXT, Enabled=required(BOOLEAN)),
        "VectorIndexes": UNAVAILABLE,
        "WarmThroughput": _WARM,
    },
    create=_create_table,
    update=_update_table,
    delete=_delete_table,
    attributes=frozenset({"Arn", "StreamArn"}),
    name_property="TableName",
    found=_found,
    has_tags=True,
    missing=_MISSING,
)
