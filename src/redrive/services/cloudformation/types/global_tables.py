"""AWS::DynamoDB::GlobalTable whose only replica is in the stack's Region: a table in other words.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
"""

from __future__ import annotations

from redrive.core.documents import Document
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
    group,
    listing,
    replacing,
    required,
)

# Properties that have the same name and form for a table, and those of the only replica that do.
_SHARED = (
    "AttributeDefinitions", "BillingMode", "KeySchema", "LocalSecondaryIndexes", "StreamSpecification", "TableName",
    "TimeToLiveSpecification", "WarmThroughput",
)  # fmt: skip
_OF_REPLICA = (
    "ContributorInsightsSpecification", "DeletionProtectionEnabled", "KinesisStreamSpecification",
    "PointInTimeRecoverySpecification", "ResourcePolicy", "TableClass", "Tags",
)  # fmt: skip

_READ_ON_DEMAND = group(MaxReadRequestUnits=INTEGER)
_WRITE_ON_DEMAND = group(MaxWriteRequestUnits=INTEGER)
_INSIGHTS = group(Enabled=required(BOOLEAN), Mode=TEXT)


def _as_table(place: Place, properties: Document) -> Document:
    """Return the properties of the table. Errors: PropertyError for other Regions, and for provisioned throughput."""
    (replica, *others) = properties["Replicas"]
    if others or replica["Region"] != place.caller.region:
        raise PropertyError(f"Replicas: redrive keeps a global table in one Region only, here {place.caller.region}")
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


def _create(place: Place, properties: Document) -> Existing:
    return _given(place, TABLE.create(place, _as_table(place, properties)), properties)


def _update(place: Place, existing: Existing, properties: Document) -> Existing:
    assert TABLE.update is not None
    old = Existing(existing.physical_id, _as_table(place, existing.properties), existing.attributes)
    return _given(place, TABLE.update(place, old, _as_table(place, properties)), properties)


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
    delete=TABLE.delete,
    attributes=frozenset({"Arn", "StreamArn", "TableId"}),
    name_property="TableName",
    missing=frozenset({"ResourceNotFoundException"}),
)
