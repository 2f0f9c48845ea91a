"""What AWS checks before it stores a mapping: its source, the role's permissions, and that it is the only one."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.targets import queue_url
from redrive.services.lambda_.buckets import check_bucket, shard_folder
from redrive.services.lambda_.limits import BATCH_SIZE_WITHOUT_WINDOW_MAX, RECORD_AGE_S_MIN
from redrive.services.lambda_.model.function import (
    Function,
    constraint_violation,
    invalid_parameter,
    lambda_error,
    unavailable,
)
from redrive.services.lambda_.model.mapping import FIFO_SUFFIX, EventSourceMapping
from redrive.services.lambda_.model.stream_settings import INFINITE, StreamSettings
from redrive.services.lambda_.queues import authorize_on_queue, queue_exists
from redrive.services.lambda_.runs import function_caller
from redrive.services.lambda_.topics import authorize_on_topic, topic_exists
from redrive.store.api import Transaction

STREAMS = frozenset({"dynamodb", "kinesis"})

_QUEUE_MISSING = frozenset({"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})
_QUEUE_ACTIONS = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
_STREAM_ACTIONS = ("GetRecords", "GetShardIterator", "DescribeStream")
_NO_ACCESS = {
    "dynamodb": "GetRecords, GetShardIterator, DescribeStream, and ListStreams",
    "kinesis": "GetRecords, GetShardIterator, DescribeStream, ListShards, and ListStreams",
}


def source_service(event_source_arn: str | None) -> str:
    """The service of an event source: `sqs`, `kinesis`, `dynamodb`.

    Errors: InvalidParameterValueException (no event source, or one that redrive does not have).
    """
    try:
        source = Arn.parse(event_source_arn or "")
    except ValueError:
        raise invalid_parameter("Unrecognized event source.") from None
    if source.service != "sqs" and source.service not in STREAMS:
        raise unavailable(f"EventSourceArn {event_source_arn}")
    return source.service


def refuse_for_source(parameters: Mapping[str, object]) -> None:
    """Refuse parameters that the mapping's kind of source does not have.

    Errors: InvalidParameterValueException.
    """
    for name, value in parameters.items():
        if value is not None:
            raise invalid_parameter(f"Unsupported {name} parameter for given event source mapping type.")


def check_queue_mapping(tx: Transaction, caller: Caller, mapping: EventSourceMapping, function: Function) -> None:
    """Check a mapping from a queue before it is stored. Errors: InvalidParameterValueException and others."""
    if mapping.batch_size > BATCH_SIZE_WITHOUT_WINDOW_MAX and mapping.window_s == 0:
        raise invalid_parameter(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than "
            f"{BATCH_SIZE_WITHOUT_WINDOW_MAX}"
        )
    if mapping.is_fifo and mapping.window_s > 0:
        # So batches of a FIFO queue have at most ten messages.
        raise invalid_parameter("Batching window is not supported for FIFO queues")
    twin = _twin(tx, caller, mapping)
    if twin is not None:
        raise lambda_error(
            "ResourceConflictException",
            f'An event source mapping with SQS arn (" {mapping.source_arn} ") and function (" {function.name} ") '
            f"already exists. Please update or delete the existing mapping with UUID {twin.name}",
        )
    visibility_s = _queue_visibility_s(tx, caller, mapping, function)
    if visibility_s < function.timeout_s:
        raise invalid_parameter(
            f"Queue visibility timeout: {visibility_s} seconds is less than "
            f"Function timeout: {function.timeout_s} seconds"
        )


def check_stream_mapping(
    tx: Transaction, caller: Caller, mapping: EventSourceMapping, settings: StreamSettings, function: Function
) -> Mapping[str, int]:
    """Check a mapping from a stream before it is stored. Returns where it begins in each shard.

    Errors: InvalidParameterValueException, ResourceConflictException.
    """
    if settings.age_s_max != INFINITE and settings.age_s_max < RECORD_AGE_S_MIN:
        raise constraint_violation(
            settings.age_s_max, "maximumRecordAgeInSeconds", f"value greater than or equal to {RECORD_AGE_S_MIN}"
        )
    twin = _twin(tx, caller, mapping)
    if twin is not None:
        raise lambda_error(
            "ResourceConflictException",
            f'The event source arn (" {mapping.source_arn} ") and function (" {function.name} ") provided mapping '
            f"already exists. Please update or delete the existing mapping with UUID {twin.name}",
        )
    positions = _positions(tx, caller, mapping, settings, function)
    if settings.on_failure_arn:
        _check_destination(tx, caller, function, settings.on_failure_arn, mapping.name)
    return positions


def check_start(source_arn: str, settings: StreamSettings, now: int) -> None:
    """Check where a new mapping begins. Errors: InvalidParameterValueException."""
    if settings.start != "AT_TIMESTAMP":
        if settings.start_at is not None:
            raise invalid_parameter("StartingPositionTimestamp is valid for the starting position AT_TIMESTAMP only.")
        return
    if Arn.parse(source_arn).service == "dynamodb":
        raise invalid_parameter(f"Unsupported starting position for arn type: {source_arn}")
    if settings.start_at is None:
        raise invalid_parameter(_NULL.format("startingPositionTimestamp"))
    if settings.start_at > now:
        raise invalid_parameter("StartingPositionTimestamp must not be in the future.")


_NULL = (
    "1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must not be null."
)  # fmt: skip


def missing_parameter(name: str) -> ServiceError:
    """The error for a parameter, in camelCase, that mappings from streams need."""
    return invalid_parameter(_NULL.format(name))


def _twin(tx: Transaction, caller: Caller, mapping: EventSourceMapping) -> EventSourceMapping | None:
    """Another mapping of this source and function."""
    for other in tx.resources.list(EventSourceMapping, caller.scope):
        is_twin = other.source_arn == mapping.source_arn and other.function_name == mapping.function_name
        if is_twin and other.name != mapping.name:
            return other
    return None


def _queue_visibility_s(tx: Transaction, caller: Caller, mapping: EventSourceMapping, function: Function) -> int:
    """Return the queue's visibility timeout, read as the function's role.

    The role must have all permissions for polling.
    """
    session = None
    for action in _QUEUE_ACTIONS:
        try:
            session = session or function_caller(tx, function, caller.request_id)
            authorize_on_queue(tx, session, f"sqs:{action}", mapping.source_arn)
        except ServiceError:
            raise invalid_parameter(
                f"The provided execution role does not have permissions to call {action} on SQS"
            ) from None
    params = {"QueueUrl": queue_url(mapping.source_arn), "AttributeNames": ["VisibilityTimeout"]}
    try:
        answer = tx.services.call(tx, session or caller, "sqs", "GetQueueAttributes", params)
    except ServiceError as error:
        if error.code not in _QUEUE_MISSING:
            raise invalid_parameter(f"Error occurred while ReceiveMessage. {error.message}") from None
        raise invalid_parameter(
            "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. "
            "SQS Error Message: The specified queue does not exist."
        ) from None
    return int(answer["Attributes"]["VisibilityTimeout"])


def _positions(
    tx: Transaction, caller: Caller, mapping: EventSourceMapping, settings: StreamSettings, function: Function
) -> Mapping[str, int]:
    """Where the mapping begins in each shard, read as the function's role, which must be allowed what polling takes."""
    service = mapping.service
    try:
        session = function_caller(tx, function, caller.request_id)
        for action in _STREAM_ACTIONS:
            tx.services.authorize(tx, session, f"{service}:{action}", mapping.read_arn)
        if mapping.read_arn != mapping.source_arn:
            _check_consumer(tx, mapping.source_arn, caller.request_id)
        return tx.services.begin_reading(tx, session, mapping.read_arn, settings.start, settings.start_at)
    except ServiceError as error:
        if error.code == "ResourceNotFoundException":
            raise invalid_parameter(f"Stream not found: {mapping.source_arn}") from None
        raise invalid_parameter(
            f"Cannot access stream {mapping.source_arn}. Please ensure the role can perform the {_NO_ACCESS[service]} "
            "Actions on your stream in IAM."
        ) from None


def _check_consumer(tx: Transaction, consumer_arn: str, request_id: str) -> None:
    """Check that a consumer exists; the role needs no permission for that. Errors: ResourceNotFoundException."""
    arn = Arn.parse(consumer_arn)
    owner = Caller(Scope(arn.account, arn.region), request_id)
    tx.services.call(tx, owner, "kinesis", "DescribeStreamConsumer", {"ConsumerARN": consumer_arn})


def _check_destination(
    tx: Transaction, caller: Caller, function: Function, destination: str, mapping_uuid: str
) -> None:
    """Check that an on-failure destination is a standard queue or topic, or a bucket, which the role may write to."""
    try:
        arn = Arn.parse(destination)
    except ValueError:
        raise invalid_parameter(f"The destination ARN {destination} is invalid.") from None
    if arn.service == "s3":
        check_bucket(tx, caller, function, destination, shard_folder(mapping_uuid, "*"))
        return
    if arn.service not in ("sqs", "sns"):
        raise unavailable(f"DestinationConfig with {destination}")
    is_queue = arn.service == "sqs"
    exists = (queue_exists if is_queue else topic_exists)(tx, destination, caller.request_id)
    if destination.endswith(FIFO_SUFFIX) or not exists:
        raise invalid_parameter(f"The destination ARN {destination} is invalid.")
    verb = "SendMessage" if is_queue else "Publish"
    try:
        session = function_caller(tx, function, caller.request_id)
        (authorize_on_queue if is_queue else authorize_on_topic)(tx, session, f"{arn.service}:{verb}", destination)
    except ServiceError:
        raise invalid_parameter(
            f"The function's execution role does not have permissions to call {verb} on {destination}"
        ) from None
