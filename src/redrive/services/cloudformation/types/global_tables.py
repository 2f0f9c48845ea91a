"""AWS::DynamoDB::GlobalTable: a table in the stack's Region, and its replicas in others.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
"""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.cloudformation.types.dynamodb import TABLE
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
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

# Properties that have the same name and form for a table, and those of a replica that do.
_SHARED = (
    "AttributeDefinitions", "BillingMode", "KeySchema", "LocalSecondaryIndexes", "StreamSpecification", "TableName",
    "TimeToLiveSpecification", "WarmThroughput",
)  # fmt: skip
_OWN = (
    "ContributorInsightsSpecification", "DeletionProtectionEnabled", "KinesisStreamSpecification",
    "PointInTimeRecoverySpecification", "Tags",
)  # fmt: skip
_OF_REPLICA = (*_OWN, "ResourcePolicy", "TableClass")

_READ_ON_DEMAND = group(MaxReadRequestUnits=INTEGER)
_WRITE_ON_DEMAND = group(MaxWriteRequestUnits=INTEGER)
_INSIGHTS = group(Enabled=required(BOOLEAN), Mode=TEXT)


def _as_table(place: Place, properties: Document) -> Document:
    """Return the properties of the table in the stack's Region.

    Errors: PropertyError if no replica is there, and for provisioned throughput.
    """
    replica = _replicas(properties).get(place.caller.region)
    if replica is None:
        raise PropertyError(
            "Invalid request provided: The Replicas section must contain an entry for the current region"
        )
    if properties.get("BillingMode") == "PROVISIONED":
        raise PropertyError("BillingMode: redrive scales no provisioned throughput; use PAY_PER_REQUEST")
    table = {name: properties[name] for name in _SHARED if name in properties}
    table |= {name: replica[name] for name in _OF_REPLICA if name in replica}
    table["BillingMode"] = "PAY_PER_REQUEST"
    encryption = properties.get("SSESpecification")
    if encryption is not None:
        table["SSESpecification"] = {**encryption, **replica.get("SSESpecification", {})}
    table |= _throughput(properties, replica)
    if "GlobalSecondaryIndexes" in properties:
        of_replica = {index["IndexName"]: index for index in replica.get("GlobalSecondaryIndexes", [])}
        table["GlobalSecondaryIndexes"] = [
            _as_index(index, of_replica.get(index["IndexName"], {})) for index in properties["GlobalSecondaryIndexes"]
        ]
    return table


def _as_index(index: Document, of_replica: Document) -> Document:
    kept = {
        name: index[name] for name in ("IndexName", "KeySchema", "Projection", "WarmThroughput") if name in index
    }  # fmt: skip
    return kept | _throughput(index, of_replica)


def _throughput(general: Document, of_replica: Document) -> Document:
    """Return the limits on on-demand throughput; those of reads may stand at the replica."""
    limits = general.get("ReadOnDemandThroughputSettings", {}) | of_replica.get("ReadOnDemandThroughputSettings", {})
    limits |= general.get("WriteOnDemandThroughputSettings", {})
    return {"OnDemandThroughput": limits} if limits else {}


def _replicas(properties: Document) -> dict[str, Document]:
    return {replica["Region"]: replica for replica in properties.get("Replicas", [])}


def _change_replicas(place: Place, table: Existing, old: Document, new: Document) -> None:
    """Make the replicas in other Regions those of the template."""
    name, home = table.physical_id, place.caller.region
    before, after = _replicas(old), _replicas(new)
    for region in before:
        if region != home and region not in after:
            _update_replica(place, name, {"Delete": {"RegionName": region}})
    for region, replica in after.items():
        if region == home:
            continue
        known = before.get(region, {})
        action = _action(region, replica)
        if not known:
            _update_replica(place, name, {"Create": action})
        elif action != _action(region, known):
            _update_replica(place, name, {"Update": action})
        away = replace(place, caller=replace(place.caller, scope=Scope(place.caller.account, region)))
        arn = table.attributes["Arn"].replace(f":{home}:", f":{region}:", 1)
        assert TABLE.update is not None
        TABLE.update(away, Existing(name, _own(known), {"Arn": arn}), _own(replica))
        policy = replica.get("ResourcePolicy")
        if policy != known.get("ResourcePolicy") and policy is not None:
            away.call("dynamodb", "PutResourcePolicy", ResourceArn=arn, Policy=as_text(policy["PolicyDocument"]))


def _own(replica: Document) -> Document:
    """Return the settings that a replica shares with no other one."""
    return {name: replica[name] for name in _OWN if name in replica}


def _action(region: str, replica: Document) -> Document:
    """Return the form in which UpdateTable asks for a replica."""
    action: Document = {"RegionName": region}
    if "SSESpecification" in replica:
        action["KMSMasterKeyId"] = replica["SSESpecification"]["KMSMasterKeyId"]
    if "TableClass" in replica:
        action["TableClassOverride"] = replica["TableClass"]
    if "ReadOnDemandThroughputSettings" in replica:
        action["OnDemandThroughputOverride"] = replica["ReadOnDemandThroughputSettings"]
    indexes = [
        {"IndexName": index["IndexName"], "OnDemandThroughputOverride": index["ReadOnDemandThroughputSettings"]}
        for index in replica.get("GlobalSecondaryIndexes", []) if "ReadOnDemandThroughputSettings" in index
    ]  # fmt: skip
    return {**action, "GlobalSecondaryIndexes": indexes} if indexes else action


def _update_replica(place: Place, name: str, update: Document) -> None:
    place.call("dynamodb", "UpdateTable", TableName=name, ReplicaUpdates=[update])


def _create(place: Place, properties: Document) -> Existing:
    made = TABLE.create(place, _as_table(place, properties))
    _change_replicas(place, made, {}, properties)
    return _given(place, made, properties)


def _delete(place: Place, existing: Existing) -> None:
    """Delete the other replicas first: a table that was their source cannot go before them."""
    _change_replicas(place, existing, existing.properties, {})
    TABLE.delete(place, existing)


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    assert TABLE.update is not None
    old = Existing(existing.physical_id, _as_table(place, existing.properties), existing.attributes)
    made = TABLE.update(place, old, _as_table(place, properties))
    _change_replicas(place, made, existing.properties, properties)
    return _given(place, made, properties)


def _given(place: Place, made: Existing, properties: Document) -> Existing:
    """Return what was made under the properties of the template."""
    described = place.call("dynamodb", "DescribeTable", TableName=made.physical_id)["Table"]
    return Existing(made.physical_id, properties, {**made.attributes, "TableId": described["TableId"]})


_KEY_SCHEMA = listing(group(AttributeName=required(TEXT), KeyType=required(TEXT)))
_PROJECTION = group(NonKeyAttributes=listing(TEXT), ProjectionType=TEXT)
_WARM = group(ReadUnitsPerSecond=INTEGER, WriteUnitsPerSecond=INTEGER)

GLOBAL_TABLE = ResourceType(
    name="AWS::DynamoDB::GlobalTable",
    properties={
        "AttributeDefinitions": listing(group(AttributeName=required(TEXT), AttributeType=required(TEXT))),
        "BillingMode": TEXT,
        "GlobalSecondaryIndexes": listing(
            group(
                IndexName=required(TEXT),
                KeySchema=required(_KEY_SCHEMA),
                Projection=required(_PROJECTION),
                ReadOnDemandThroughputSettings=_READ_ON_DEMAND,
                ReadProvisionedThroughputSettings=UNAVAILABLE,
                WarmThroughput=_WARM,
                WriteOnDemandThroughputSettings=_WRITE_ON_DEMAND,
                WriteProvisionedThroughputSettings=UNAVAILABLE,
            )
        ),
        "GlobalTableSourceArn": replacing(UNAVAILABLE),
        "GlobalTableWitnesses": UNAVAILABLE,
        "KeySchema": replacing(_KEY_SCHEMA),
        "LocalSecondaryIndexes": replacing(
            listing(group(IndexName=required(TEXT), KeySchema=required(_KEY_SCHEMA), Projection=required(_PROJECTION)))
        ),
        "MultiRegionConsistency": UNAVAILABLE,
        "ReadOnDemandThroughputSettings": _READ_ON_DEMAND,
        "ReadProvisionedThroughputSettings": UNAVAILABLE,
        "Replicas": required(
            listing(
                group(
                    ContributorInsightsSpecification=_INSIGHTS,
                    DeletionProtectionEnabled=BOOLEAN,
                    DisassociationProtectionEnabled=UNAVAILABLE,
                    GlobalSecondaryIndexes=listing(
                        group(
                            ContributorInsightsSpecification=_INSIGHTS,
                            IndexName=required(TEXT),
                            ReadOnDemandThroughputSettings=_READ_ON_DEMAND,
                            ReadProvisionedThroughputSettings=UNAVAILABLE,
                        )
                    ),
                    GlobalTableSettingsReplicationMode=UNAVAILABLE,
                    KinesisStreamSpecification=group(
                        StreamArn=required(TEXT), ApproximateCreationDateTimePrecision=TEXT
                    ),
                    PointInTimeRecoverySpecification=group(
                        PointInTimeRecoveryEnabled=BOOLEAN, RecoveryPeriodInDays=INTEGER
                    ),
                    ReadOnDemandThroughputSettings=_READ_ON_DEMAND,
                    ReadProvisionedThroughputSettings=UNAVAILABLE,
                    Region=required(TEXT),
                    ReplicaStreamSpecification=UNAVAILABLE,
                    ResourcePolicy=group(PolicyDocument=required(JSON)),
                    SSESpecification=group(KMSMasterKeyId=required(TEXT)),
                    TableClass=TEXT,
                    Tags=TAGS,
                )
            )
        ),
        "SSESpecification": group(SSEEnabled=required(BOOLEAN), SSEType=TEXT),
        "StreamSpecification": group(StreamViewType=required(TEXT)),
        "TableName": replacing(TEXT),
        "TableType": UNAVAILABLE,
        "TimeToLiveSpecification": group(AttributeName=TEXT, Enabled=required(BOOLEAN)),
        "VectorIndexes": UNAVAILABLE,
        "WarmThroughput": _WARM,
        "WriteOnDemandThroughputSettings": _WRITE_ON_DEMAND,
        "WriteProvisionedThroughputSettings": UNAVAILABLE,
    },
    create=_create,
    update=_update,
    delete=_delete,
    attributes=frozenset({"Arn", "StreamArn", "TableId"}),
    name_property="TableName",
    missing=frozenset({"ResourceNotFoundException"}),
)
