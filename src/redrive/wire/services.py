"""The services of the wire, as data: what botocore's models do not say about them.

A new service is a new entry here. Nothing in this module knows what a service does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

QUERY_ERROR_STATUS = 400
UNKNOWN_ACTION = "Could not find operation {action} for version {version}"


@dataclass(frozen=True, slots=True)
class Wording:
    """The wording of a service's error for a JSON value of the wrong type.

    `conversion` has the placeholders `{token}` and `{target}`; `targets` names the JSON types of members;
    `namespace` is the namespace of structures, with its last dot.
    """

    conversion: str
    structure: str
    targets: Mapping[str, str]
    namespace: str = ""


_PLAIN_TARGETS = {
    "string": "String",
    "boolean": "Boolean",
    "integer": "Integer",
    "long": "Long",
    "float": "Float",
    "double": "Double",
    "blob": "ByteBuffer",
    "timestamp": "Date",
}
PLAIN_WORDING = Wording(
    conversion="{token} can not be converted to {target}",
    structure="Start of structure or map found where not expected.",
    targets=MappingProxyType(
        {kind: f"an {name}" if name[0] in "AEIOU" else f"a {name}" for kind, name in _PLAIN_TARGETS.items()}
    ),
)
DYNAMODB_WORDING = Wording(
    conversion="{token} cannot be converted to {target}",
    structure="Start of structure or map found where not expected",
    targets=MappingProxyType(_PLAIN_TARGETS),
    namespace="com.amazonaws.dynamodb.v20120810.",
)


@dataclass(frozen=True, slots=True)
class QueryError:
    """The code of an error shape on the query protocol, and its HTTP status there."""

    code: str
    http_status: int = QUERY_ERROR_STATUS


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One service: how its requests are recognised, and where it differs from its model.

    `protocols` are in order of preference; `target_prefix` is what X-Amz-Target starts with; `validation_code` is
    its error for parameters that break the model, empty if it checks them itself; `query_names` renames (shape,
    member) on the query protocol, `query_json_lists` the lists of its answers in JSON. `root` is what all paths of a
    service begin with that is not AWS's; only what is asked below it is for that service. Requests to a path that
    matches `resource_path` are about that resource; it `compresses` large answers for who accepts gzip,
    and takes bodies of `body_bytes_max` where it has a limit of its own. `root_elements` are the roots of its XML
    documents by operation; a document of `unwrapped_outputs` is the text of its only member.
    """

    name: str
    protocols: tuple[str, ...]
    target_prefix: str = ""
    signs_as: str = ""
    error_namespace: str = ""
    validation_code: str = "ValidationException"
    sends_crc32: bool = False
    wording: Wording = PLAIN_WORDING
    xml_namespace: str = ""
    checks_version: bool = True
    unknown_action: str = UNKNOWN_ACTION
    query_errors: Mapping[str, QueryError] = field(default_factory=dict)
    query_messages: Mapping[str, str] = field(default_factory=dict)
    query_names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    root: str = ""
    query_json_lists: Mapping[str, str] = field(default_factory=dict)
    has_error_detail: bool = False
    resource_path: str = ""
    compresses: bool = False
    body_bytes_max: int | None = None
    root_elements: Mapping[str, str] = field(default_factory=dict)
    unwrapped_outputs: frozenset[str] = frozenset()

    @property
    def signing_name(self) -> str:
        """The service's name in the credential scope of a signature."""
        return self.signs_as or self.name


def _own(code: str) -> str:
    return f"AWS.SimpleQueueService.{code}"


# Source: the error sections of https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html
_SQS_QUERY_ERRORS = {
    "BatchEntryIdsNotDistinct": QueryError(_own("BatchEntryIdsNotDistinct")),
    "BatchRequestTooLong": QueryError(_own("BatchRequestTooLong")),
    "EmptyBatchRequest": QueryError(_own("EmptyBatchRequest")),
    "InvalidAddress": QueryError("InvalidAddress", 404),
    "InvalidBatchEntryId": QueryError(_own("InvalidBatchEntryId")),
    "InvalidSecurity": QueryError("InvalidSecurity", 403),
    "KmsAccessDenied": QueryError("KMS.AccessDeniedException"),
    "KmsDisabled": QueryError("KMS.DisabledException"),
    "KmsInvalidKeyUsage": QueryError("KMS.InvalidKeyUsageException"),
    "KmsInvalidState": QueryError("KMS.InvalidStateException"),
    "KmsNotFound": QueryError("KMS.NotFoundException"),
    "KmsOptInRequired": QueryError("KMS.OptInRequired", 403),
    "KmsThrottled": QueryError("KMS.ThrottlingException"),
    "MessageNotInflight": QueryError(_own("MessageNotInflight")),
    "OverLimit": QueryError("OverLimit", 403),
    "PurgeQueueInProgress": QueryError(_own("PurgeQueueInProgress"), 403),
    "QueueDeletedRecently": QueryError(_own("QueueDeletedRecently")),
    "QueueDoesNotExist": QueryError(_own("NonExistentQueue")),
    "QueueNameExists": QueryError("QueueAlreadyExists"),
    "ReceiptHandleIsInvalid": QueryError("ReceiptHandleIsInvalid", 404),
    "RequestThrottled": QueryError("RequestThrottled", 403),
    "ResourceNotFoundException": QueryError("ResourceNotFoundException", 404),
    "TooManyEntriesInBatchRequest": QueryError(_own("TooManyEntriesInBatchRequest")),
    "UnsupportedOperation": QueryError(_own("UnsupportedOperation")),
}

# The model describes the JSON protocol only; on the query protocol, a list has the name of one element.
# Source: the query examples of https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html
_SQS_QUERY_NAMES = {
    ("AWSAccountIdList", "member"): "AWSAccountId",
    ("ActionNameList", "member"): "ActionName",
    ("AttributeNameList", "member"): "AttributeName",
    ("BatchResultErrorEntryList", "member"): "BatchResultErrorEntry",
    ("BinaryList", "member"): "BinaryListValue",
    ("ChangeMessageVisibilityBatchRequestEntryList", "member"): "ChangeMessageVisibilityBatchRequestEntry",
    ("ChangeMessageVisibilityBatchResultEntryList", "member"): "ChangeMessageVisibilityBatchResultEntry",
    ("DeleteMessageBatchRequestEntryList", "member"): "DeleteMessageBatchRequestEntry",
    ("DeleteMessageBatchResultEntryList", "member"): "DeleteMessageBatchResultEntry",
    ("ListMessageMoveTasksResultEntryList", "member"): "ListMessageMoveTasksResultEntry",
    ("MessageAttributeNameList", "member"): "MessageAttributeName",
    ("MessageBodyAttributeMap", "key"): "Name",
    ("MessageBodyAttributeMap", "value"): "Value",
    ("MessageBodySystemAttributeMap", "key"): "Name",
    ("MessageBodySystemAttributeMap", "value"): "Value",
    ("MessageList", "member"): "Message",
    ("MessageSystemAttributeList", "member"): "MessageSystemAttributeName",
    ("MessageSystemAttributeMap", "key"): "Name",
    ("MessageSystemAttributeMap", "value"): "Value",
    ("QueueAttributeMap", "key"): "Name",
    ("QueueAttributeMap", "value"): "Value",
    ("QueueUrlList", "member"): "QueueUrl",
    ("SendMessageBatchRequestEntryList", "member"): "SendMessageBatchRequestEntry",
    ("SendMessageBatchResultEntryList", "member"): "SendMessageBatchResultEntry",
    ("StringList", "member"): "StringListValue",
    ("TagKeyList", "member"): "TagKey",
    ("TagMap", "key"): "Key",
    ("TagMap", "value"): "Value",
    ("CreateQueueRequest", "Attributes"): "Attribute",
    ("CreateQueueRequest", "tags"): "Tag",
    ("GetQueueAttributesResult", "Attributes"): "Attribute",
    ("ListQueueTagsResult", "Tags"): "Tag",
    ("Message", "Attributes"): "Attribute",
    ("Message", "MessageAttributes"): "MessageAttribute",
    ("SendMessageBatchRequestEntry", "MessageAttributes"): "MessageAttribute",
    ("SendMessageBatchRequestEntry", "MessageSystemAttributes"): "MessageSystemAttribute",
    ("SendMessageRequest", "MessageAttributes"): "MessageAttribute",
    ("SendMessageRequest", "MessageSystemAttributes"): "MessageSystemAttribute",
    ("SetQueueAttributesRequest", "Attributes"): "Attribute",
    ("TagQueueRequest", "Tags"): "Tag",
}

# botocore's model leaves the names of these documents out; a payload has the name of its member.
# Source: the response syntax of https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
_S3_ROOT_ELEMENTS = {
    "CreateMultipartUpload": "InitiateMultipartUploadResult",
    "DeleteObjects": "DeleteResult",
    "GetBucketAccelerateConfiguration": "AccelerateConfiguration",
    "GetBucketAcl": "AccessControlPolicy",
    "GetBucketCors": "CORSConfiguration",
    "GetBucketLifecycle": "LifecycleConfiguration",
    "GetBucketLifecycleConfiguration": "LifecycleConfiguration",
    "GetBucketLocation": "LocationConstraint",
    "GetBucketLogging": "BucketLoggingStatus",
    "GetBucketNotification": "NotificationConfiguration",
    "GetBucketNotificationConfiguration": "NotificationConfiguration",
    "GetBucketRequestPayment": "RequestPaymentConfiguration",
    "GetBucketTagging": "Tagging",
    "GetBucketVersioning": "VersioningConfiguration",
    "GetBucketWebsite": "WebsiteConfiguration",
    "GetObjectAcl": "AccessControlPolicy",
    "GetObjectAttributes": "GetObjectAttributesResponse",
    "GetObjectTagging": "Tagging",
    "ListBucketAnalyticsConfigurations": "ListBucketAnalyticsConfigurationResult",
    "ListBucketInventoryConfigurations": "ListInventoryConfigurationsResult",
    "ListBucketMetricsConfigurations": "ListMetricsConfigurationsResult",
    "ListBuckets": "ListAllMyBucketsResult",
    "ListDirectoryBuckets": "ListAllMyDirectoryBucketsResult",
    "ListObjectVersions": "ListVersionsResult",
    "ListObjects": "ListBucketResult",
    "ListObjectsV2": "ListBucketResult",
}

SERVICES: tuple[ServiceSpec, ...] = (
    ServiceSpec(
        name="sqs",
        protocols=("json", "query"),
        target_prefix="AmazonSQS",
        error_namespace="com.amazonaws.sqs",
        validation_code="",
        xml_namespace="http://queue.amazonaws.com/doc/2012-11-05/",
        checks_version=False,
        unknown_action="The action {action} is not valid for this endpoint.",
        query_errors=MappingProxyType(_SQS_QUERY_ERRORS),
        query_messages=MappingProxyType(
            {"QueueDoesNotExist": "The specified queue does not exist for this wsdl version."}
        ),
        query_names=MappingProxyType(_SQS_QUERY_NAMES),
        query_json_lists=MappingProxyType({"Messages": "messages", "QueueUrls": "queueUrls"}),
        has_error_detail=True,
        resource_path=r"(?:/queue/[a-z0-9-]+)?/\d{12}/[A-Za-z0-9_.-]+",
    ),
    ServiceSpec(name="scheduler", protocols=("rest-json",)),
    ServiceSpec(name="lambda", protocols=("rest-json",)),
    ServiceSpec(
        name="dynamodb",
        protocols=("json",),
        target_prefix="DynamoDB_20120810",
        error_namespace="com.amazonaws.dynamodb.v20120810",
        sends_crc32=True,
        compresses=True,
        body_bytes_max=16 * 1024 * 1024,
        wording=DYNAMODB_WORDING,
    ),
    ServiceSpec(
        name="dynamodbstreams",
        protocols=("json",),
        target_prefix="DynamoDBStreams_20120810",
        signs_as="dynamodb",
        error_namespace="com.amazonaws.dynamodb.v20120810",
        compresses=True,
        wording=DYNAMODB_WORDING,
    ),
    ServiceSpec(name="iam", protocols=("query",)),
    ServiceSpec(name="sts", protocols=("query",)),
    ServiceSpec(name="cloudformation", protocols=("query",)),
    ServiceSpec(
        name="logs",
        protocols=("json",),
        target_prefix="Logs_20140328",
        validation_code="InvalidParameterException",
    ),
    ServiceSpec(
        name="cloudwatch",
        protocols=("smithy-rpc-v2-cbor", "json", "query"),
        target_prefix="GraniteServiceVersion20100801",
        signs_as="monitoring",
        error_namespace="com.amazonaws.cloudwatch",
    ),
    ServiceSpec(name="events", protocols=("json",), target_prefix="AWSEvents"),
    ServiceSpec(name="kms", protocols=("json",), target_prefix="TrentService"),
    ServiceSpec(
        name="ecr",
        protocols=("json",),
        target_prefix="AmazonEC2ContainerRegistry_V20150921",
        validation_code="InvalidParameterException",
    ),
    ServiceSpec(name="stepfunctions", protocols=("json",), target_prefix="AWSStepFunctions", signs_as="states"),
    ServiceSpec(name="ssm", protocols=("json",), target_prefix="AmazonSSM"),
    ServiceSpec(
        name="secretsmanager",
        protocols=("json",),
        target_prefix="secretsmanager",
        validation_code="InvalidParameterException",
    ),
    ServiceSpec(
        name="kinesis",
        protocols=("json", "aws-cbor"),
        target_prefix="Kinesis_20131202",
        body_bytes_max=16 * 1024 * 1024,
    ),
    ServiceSpec(
        name="cloudtrail",
        protocols=("json",),
        target_prefix="com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101",
        validation_code="InvalidParameterException",
    ),
    ServiceSpec(name="sns", protocols=("query",)),
    ServiceSpec(
        name="s3",
        protocols=("rest-xml",),
        validation_code="",
        xml_namespace="http://s3.amazonaws.com/doc/2006-03-01/",
        root_elements=MappingProxyType(_S3_ROOT_ELEMENTS),
        unwrapped_outputs=frozenset({"GetBucketLocation"}),
    ),
)
"""AWS's services of the wire. A service's name is also its folder's name among botocore's models."""

OWN_SERVICE = ServiceSpec(name="redrive", protocols=("rest-json",), root="/_redrive/")
"""The server's own surface. Its model is in `wire/data`, in the layout and the form of botocore's models."""
