"""The properties of AWS::S3::Bucket.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html
"""

from __future__ import annotations

from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    UNAVAILABLE,
    Properties,
    group,
    listing,
    replacing,
    required,
)

_TAG_FILTERS = listing(group(Key=required(TEXT), Value=required(TEXT)))
_KEY_FILTER = group(S3Key=required(group(Rules=required(listing(group(Name=required(TEXT), Value=required(TEXT)))))))
_DESTINATION = group(BucketAccountId=TEXT, BucketArn=required(TEXT), Format=required(TEXT), Prefix=TEXT)
_TRANSITION = group(StorageClass=required(TEXT), TransitionDate=TEXT, TransitionInDays=INTEGER)
_NONCURRENT_TRANSITION = group(
    NewerNoncurrentVersions=INTEGER, StorageClass=required(TEXT), TransitionInDays=required(INTEGER)
)
_LIFECYCLE_RULE = group(
    AbortIncompleteMultipartUpload=group(DaysAfterInitiation=required(INTEGER)),
    ExpirationDate=TEXT,
    ExpirationInDays=INTEGER,
    ExpiredObjectDeleteMarker=BOOLEAN,
    Id=TEXT,
    NoncurrentVersionExpiration=group(NewerNoncurrentVersions=INTEGER, NoncurrentDays=required(INTEGER)),
    NoncurrentVersionExpirationInDays=INTEGER,
    NoncurrentVersionTransition=_NONCURRENT_TRANSITION,
    NoncurrentVersionTransitions=listing(_NONCURRENT_TRANSITION),
    ObjectSizeGreaterThan=TEXT,
    ObjectSizeLessThan=TEXT,
    Prefix=TEXT,
    Status=required(TEXT),
    TagFilters=_TAG_FILTERS,
    Transition=_TRANSITION,
    Transitions=listing(_TRANSITION),
)
_RETENTION = group(
    Days=INTEGER, DefaultEventHold=group(Days=INTEGER, Years=INTEGER), Mode=TEXT, Years=INTEGER
)  # fmt: skip
_ENCRYPTION_RULE = group(
    BlockedEncryptionTypes=group(EncryptionType=listing(TEXT)),
    BucketKeyEnabled=BOOLEAN,
    ServerSideEncryptionByDefault=group(KMSMasterKeyID=TEXT, SSEAlgorithm=required(TEXT)),
)
_CORS_RULE = group(
    AllowedHeaders=listing(TEXT),
    AllowedMethods=required(listing(TEXT)),
    AllowedOrigins=required(listing(TEXT)),
    ExposedHeaders=listing(TEXT),
    Id=TEXT,
    MaxAge=INTEGER,
)

PROPERTIES: Properties = {
    "AbacStatus": TEXT,
    "AccelerateConfiguration": group(AccelerationStatus=required(TEXT)),
    "AccessControl": TEXT,
    "AnalyticsConfigurations": listing(
        group(
            Id=required(TEXT),
            Prefix=TEXT,
            StorageClassAnalysis=required(
                group(
                    DataExport=group(Destination=required(_DESTINATION), OutputSchemaVersion=required(TEXT)),
                )
            ),
            TagFilters=_TAG_FILTERS,
        )
    ),
    "BucketEncryption": group(ServerSideEncryptionConfiguration=required(listing(_ENCRYPTION_RULE))),
    "BucketName": replacing(TEXT),
    "BucketNamePrefix": replacing(TEXT),
    "BucketNamespace": replacing(TEXT),
    "CorsConfiguration": group(CorsRules=required(listing(_CORS_RULE))),
    "IntelligentTieringConfigurations": listing(
        group(
            Id=required(TEXT),
            Prefix=TEXT,
            Status=required(TEXT),
            TagFilters=_TAG_FILTERS,
            Tierings=required(listing(group(AccessTier=required(TEXT), Days=required(INTEGER)))),
        )
    ),
    "InventoryConfigurations": listing(
        group(
            Destination=required(_DESTINATION),
            Enabled=required(BOOLEAN),
            Id=required(TEXT),
            IncludedObjectVersions=required(TEXT),
            OptionalFields=listing(TEXT),
            Prefix=TEXT,
            ScheduleFrequency=required(TEXT),
        )
    ),
    "LifecycleConfiguration": group(Rules=required(listing(_LIFECYCLE_RULE)), TransitionDefaultMinimumObjectSize=TEXT),
    "LoggingConfiguration": group(DestinationBucketName=TEXT, LogFilePrefix=TEXT, TargetObjectKeyFormat=JSON),
    "MetadataConfiguration": UNAVAILABLE,
    "MetadataTableConfiguration": UNAVAILABLE,
    "MetricsConfigurations": listing(
        group(AccessPointArn=TEXT, Id=required(TEXT), Prefix=TEXT, TagFilters=_TAG_FILTERS)
    ),
    "NotificationConfiguration": group(
        EventBridgeConfiguration=group(EventBridgeEnabled=required(BOOLEAN)),
        LambdaConfigurations=listing(group(Event=required(TEXT), Filter=_KEY_FILTER, Function=required(TEXT))),
        QueueConfigurations=listing(group(Event=required(TEXT), Filter=_KEY_FILTER, Queue=required(TEXT))),
        TopicConfigurations=listing(group(Event=required(TEXT), Filter=_KEY_FILTER, Topic=required(TEXT))),
    ),
    "ObjectLockConfiguration": group(ObjectLockEnabled=TEXT, Rule=group(DefaultRetention=_RETENTION)),
    "ObjectLockEnabled": BOOLEAN,
    "OwnershipControls": group(Rules=required(listing(group(ObjectOwnership=TEXT)))),
    "PublicAccessBlockConfiguration": group(
        BlockPublicAcls=BOOLEAN, BlockPublicPolicy=BOOLEAN, IgnorePublicAcls=BOOLEAN, RestrictPublicBuckets=BOOLEAN
    ),
    "ReplicationConfiguration": UNAVAILABLE,
    "Tags": TAGS,
    "VersioningConfiguration": group(Status=required(TEXT)),
    "WebsiteConfiguration": UNAVAILABLE,
}
