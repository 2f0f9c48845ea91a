"""API calls as CloudTrail sees them: which are management events, which only read, and what they are called.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/userguide/logging-management-events-with-cloudtrail.html and
the page "Logging API calls using CloudTrail" of each service.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class CallKind(enum.Enum):
    """What CloudTrail makes of an operation: a management event that reads or writes, or none of these."""

    READ = "read"
    WRITE = "write"
    DATA = "data"


def kind_of(service: str, operation: str) -> CallKind:
    """The kind of an operation. DATA: an event of data, which a trail of management events leaves out."""
    if service not in _DATA or operation in _DATA[service]:
        return CallKind.DATA
    reads = operation.startswith(_READING) and (service, operation) not in _WRITES
    return CallKind.READ if reads or (service, operation) in _READS else CallKind.WRITE


def event_name(service: str, operation: str) -> str:
    """The `eventName` of an operation: Lambda's carry the version of their interface, some of S3 have older names."""
    if service == "s3":
        return _OF_S3.get(operation, operation)
    return operation + _VERSIONS.get(operation, "") if service == "lambda" else operation


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# By service, the operations that are no management events. A service that is not here is not recorded at all.
_DATA: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "cloudformation": frozenset(),
        "cloudtrail": frozenset(),
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/logging_cw_api_calls.html
        "cloudwatch": _names("GetMetricData GetMetricStatistics GetMetricWidgetImage ListMetrics PutMetricData"),
        # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/logging-using-cloudtrail.html
        "dynamodb": _names(
            "BatchExecuteStatement BatchGetItem BatchWriteItem DeleteItem ExecuteStatement ExecuteTransaction GetItem "
            "PutItem Query Scan TransactGetItems TransactWriteItems UpdateItem"
        ),
        "dynamodbstreams": _names("GetRecords GetShardIterator"),
        "ecr": frozenset(),
        # https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-logging-monitoring.html
        "events": _names("PutEvents PutPartnerEvents"),
        "iam": frozenset(),
        # https://docs.aws.amazon.com/streams/latest/dev/logging-using-cloudtrail.html
        "kinesis": _names("GetRecords GetShardIterator PutRecord PutRecords SubscribeToShard"),
        # https://docs.aws.amazon.com/kms/latest/developerguide/logging-using-cloudtrail.html
        "kms": frozenset(),
        # https://docs.aws.amazon.com/lambda/latest/dg/logging-using-cloudtrail.html
        "lambda": _names("Invoke InvokeAsync InvokeWithResponseStream"),
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/logging_cw_api_calls_cwl.html
        "logs": _names("FilterLogEvents GetLogEvents GetLogGroupFields GetLogRecord PutLogEvents StartLiveTail"),
        # https://docs.aws.amazon.com/AmazonS3/latest/userguide/cloudtrail-logging-s3-info.html
        "s3": _names(
            "AbortMultipartUpload CompleteMultipartUpload CopyObject CreateMultipartUpload DeleteObject DeleteObjects "
            "DeleteObjectAnnotation DeleteObjectTagging GetObject GetObjectAcl GetObjectAnnotation GetObjectAttributes "
            "GetObjectLegalHold GetObjectRetention GetObjectTagging GetObjectTorrent HeadBucket HeadObject "
            "ListMultipartUploads ListObjectAnnotations ListObjects ListObjectsV2 ListObjectVersions ListParts "
            "PutObject PutObjectAcl PutObjectAnnotation PutObjectLegalHold PutObjectRetention PutObjectTagging "
            "RenameObject RestoreObject SelectObjectContent UpdateObjectEncryption UploadPart UploadPartCopy "
            "WriteGetObjectResponse"
        ),
        "scheduler": frozenset(),
        "secretsmanager": frozenset(),
        # https://docs.aws.amazon.com/sns/latest/dg/sns-logging-using-cloudtrail.html
        "sns": _names("Publish PublishBatch"),
        # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/logging-using-cloudtrail.html
        "sqs": _names(
            "ChangeMessageVisibility ChangeMessageVisibilityBatch DeleteMessage DeleteMessageBatch GetQueueAttributes "
            "GetQueueUrl ListDeadLetterSourceQueues ListQueueTags ListQueues ReceiveMessage SendMessage "
            "SendMessageBatch"
        ),
        "ssm": frozenset(),
        "stepfunctions": frozenset(),
        "sts": frozenset(),
    }
)

_READING = ("BatchGet", "Describe", "Detect", "Estimate", "Get", "List", "Simulate", "Test", "Validate")

_READS = frozenset(
    {
        ("kms", "Decrypt"),
        ("kms", "Encrypt"),
        ("kms", "GenerateDataKey"),
        ("kms", "GenerateDataKeyPair"),
        ("kms", "GenerateDataKeyPairWithoutPlaintext"),
        ("kms", "GenerateDataKeyWithoutPlaintext"),
        ("kms", "GenerateMac"),
        ("kms", "GenerateRandom"),
        ("kms", "ReEncrypt"),
        ("kms", "Sign"),
        ("kms", "Verify"),
        ("kms", "VerifyMac"),
        ("sts", "AssumeRole"),
        ("sts", "AssumeRoleWithSAML"),
        ("sts", "AssumeRoleWithWebIdentity"),
        ("sts", "DecodeAuthorizationMessage"),
    }
)
"""Operations with a name of their own that only read."""

_WRITES = frozenset({("sts", "GetFederationToken"), ("sts", "GetSessionToken")})
"""Operations that begin as those that read do, and that reach every rule nevertheless."""

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/cloudtrail-logging-s3-info.html
_OF_S3: Mapping[str, str] = MappingProxyType(
    {
        "DeletePublicAccessBlock": "DeleteBucketPublicAccessBlock",
        "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
        "GetBucketLifecycleConfiguration": "GetBucketLifecycle",
        "GetBucketNotificationConfiguration": "GetBucketNotification",
        "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
        "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
        "PutBucketAccelerateConfiguration": "PutAccelerateConfiguration",
        "PutBucketLifecycleConfiguration": "PutBucketLifecycle",
        "PutBucketNotificationConfiguration": "PutBucketNotification",
        "PutObjectLockConfiguration": "PutBucketObjectLockConfiguration",
        "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    }
)

# https://docs.aws.amazon.com/lambda/latest/dg/logging-using-cloudtrail.html
_VERSIONS: Mapping[str, str] = MappingProxyType(
    {
        "AddLayerVersionPermission": "20181031",
        "AddPermission": "20150331v2",
        "CreateAlias": "20150331",
        "CreateEventSourceMapping": "20150331",
        "CreateFunction": "20150331",
        "DeleteAlias": "20150331",
        "DeleteEventSourceMapping": "20150331",
        "DeleteFunction": "20150331",
        "DeleteFunctionConcurrency": "20171031",
        "DeleteLayerVersion": "20181031",
        "GetAlias": "20150331",
        "GetEventSourceMapping": "20150331",
        "GetFunction": "20150331v2",
        "GetFunctionConfiguration": "20150331v2",
        "GetLayerVersion": "20181031",
        "GetLayerVersionPolicy": "20181031",
        "GetPolicy": "20150331v2",
        "ListAliases": "20150331",
        "ListEventSourceMappings": "20150331",
        "ListFunctions": "20150331",
        "ListLayerVersions": "20181031",
        "ListLayers": "20181031",
        "ListTags": "20170331",
        "ListVersionsByFunction": "20150331",
        "PublishLayerVersion": "20181031",
        "PublishVersion": "20150331",
        "PutFunctionConcurrency": "20171031",
        "RemoveLayerVersionPermission": "20181031",
        "RemovePermission": "20150331v2",
        "TagResource": "20170331v2",
        "UntagResource": "20170331v2",
        "UpdateAlias": "20150331",
        "UpdateEventSourceMapping": "20150331",
        "UpdateFunctionCode": "20150331v2",
        "UpdateFunctionConfiguration": "20150331v2",
    }
)
