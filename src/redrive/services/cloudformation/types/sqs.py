"""AWS::SQS::Queue, AWS::SQS::QueuePolicy and AWS::SQS::QueueInlinePolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_SQS.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    already_exists,
    changed_keys,
    exists,
    tag_changes,
    tags_of,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    as_text,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
_NAME_LENGTH_MAX = 80
_FIFO_SUFFIX = ".fifo"
_POLICY_ID_LENGTH_MAX = 255
_MISSING = frozenset({"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})

# The properties that are attributes of a queue, with their values after the template removes them. The size is recorded
# from AWS, where new queues have a different size.
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
_ATTRIBUTES = {
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "DelaySeconds": "0",
    "FifoQueue": "false",
    "FifoThroughputLimit": "perQueue",
    "KmsDataKeyReusePeriodSeconds": "300",
    "KmsMasterKeyId": "",
    "MaximumMessageSize": "262144",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "RedriveAllowPolicy": "",
    "RedrivePolicy": "",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}


# Attributes that keep their values after the template removes them; recorded from AWS.
_STAYING = frozenset({"DeduplicationScope", "FifoThroughputLimit"})


def _attributes(properties: Document, names: set[str]) -> dict[str, str]:
    """Return these properties in the API's form; a removed property gets its default."""
    return {name: _attribute(properties.get(name, default)) for name, default in _ATTRIBUTES.items() if name in names}


def _attribute(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return as_text(value)
        case _:
            return str(value)


def _create_queue(place: Place, properties: Document) -> Existing:
    name = _name(place, properties)
    if exists(place, _MISSING, "sqs", "GetQueueUrl", QueueName=name):
        raise already_exists("AWS::SQS::Queue", name)
    attributes = _attributes(properties, set(properties))
    if attributes.get("FifoQueue") == "false":
        # A template may set FifoQueue to false; the API does not accept the attribute then.
        del attributes["FifoQueue"]
    created = place.call("sqs", "CreateQueue", QueueName=name, Attributes=attributes, tags=tags_of(properties) or None)
    url = created["QueueUrl"]
    read = place.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["QueueArn"])
    return Existing(url, properties, {"Arn": read["Attributes"]["QueueArn"], "QueueName": name, "QueueUrl": url})


def _name(place: Place, properties: Document) -> str:
    """Return the name in the template, or a generated one; its end matches the type of the queue.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html
    """
    suffix = _FIFO_SUFFIX if properties.get("FifoQueue") else ""
    given: str | None = properties.get("QueueName")
    return given or place.name(None, _NAME_LENGTH_MAX - len(suffix)) + suffix


def _update_queue(place: Place, existing: Existing, properties: Document) -> Existing:
    url = existing.physical_id
    changed = changed_keys(existing.properties, properties) - (_STAYING - properties.keys())
    attributes = _attributes(properties, changed)
    if "KmsMasterKeyId" in changed - properties.keys() and "SqsManagedSseEnabled" not in properties:
        attributes["SqsManagedSseEnabled"] = "false"
    if attributes:
        place.call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes=attributes)
    tagged, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("sqs", "UntagQueue", QueueUrl=url, TagKeys=removed)
    if tagged:
        place.call("sqs", "TagQueue", QueueUrl=url, Tags=tagged)
    return Existing(url, properties, existing.attributes)


def _delete_queue(place: Place, existing: Existing) -> None:
    place.call("sqs", "DeleteQueue", QueueUrl=existing.physical_id)


def _create_policy(place: Place, properties: Document) -> Existing:
    name = place.name(None, _POLICY_ID_LENGTH_MAX)
    _set_policy(place, properties["Queues"], as_text(properties["PolicyDocument"]))
    return Existing(name, properties, {"Id": name})


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    gone = [url for url in existing.properties["Queues"] if url not in properties["Queues"]]
    _set_policy(place, gone, "")
    _set_policy(place, properties["Queues"], as_text(properties["PolicyDocument"]))
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_policy(place: Place, existing: Existing) -> None:
    _set_policy(place, existing.properties["Queues"], "")


def _create_inline_policy(place: Place, properties: Document) -> Existing:
    _set_policy(place, [properties["Queue"]], as_text(properties["PolicyDocument"]))
    return Existing(properties["Queue"], properties, {})


def _update_inline_policy(
    place: Place,
    existing: Existing,  # noqa: ARG001 -- the signature of every update.
    properties: Document,
) -> Existing:
    return _create_inline_policy(place, properties)


def _delete_inline_policy(place: Place, existing: Existing) -> None:
    _set_policy(place, [existing.properties["Queue"]], "")


def _set_policy(place: Place, urls: list[str], policy: str) -> None:
    for url in urls:
        place.call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy})


QUEUE = ResourceType(
    name="AWS::SQS::Queue",
    properties={
        "ContentBasedDeduplication": BOOLEAN,
        "DeduplicationScope": TEXT,
        "DelaySeconds": INTEGER,
        "FifoQueue": replacing(BOOLEAN),
        "FifoThroughputLimit": TEXT,
        "KmsDataKeyReusePeriodSeconds": INTEGER,
        "KmsMasterKeyId": TEXT,
        "MaximumMessageSize": INTEGER,
        "MessageRetentionPeriod": INTEGER,
        "QueueName": replacing(TEXT),
        "ReceiveMessageWaitTimeSeconds": INTEGER,
        "RedriveAllowPolicy": JSON,
        "RedrivePolicy": JSON,
        "SqsManagedSseEnabled": BOOLEAN,
        "Tags": TAGS,
        "VisibilityTimeout": INTEGER,
    },
    create=_create_queue,
    update=_update_queue,
    delete=_delete_queue,
    attributes=frozenset({"Arn", "QueueName", "QueueUrl"}),
    name_property="QueueName",
    has_tags=True,
    missing=_MISSING,
)

QUEUE_POLICY = ResourceType(
    name="AWS::SQS::QueuePolicy",
    properties={"PolicyDocument": required(JSON), "Queues": required(listing(TEXT))},
    create=_create_policy,
    update=_update_policy,
    delete=_delete_policy,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
)

QUEUE_INLINE_POLICY = ResourceType(
    name="AWS::SQS::QueueInlinePolicy",
    properties={"PolicyDocument": required(JSON), "Queue": replacing(required(TEXT))},
    create=_create_inline_policy,
    update=_update_inline_policy,
    delete=_delete_inline_policy,
    missing=_MISSING,
)
