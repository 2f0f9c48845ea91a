"""The operations on mappings from queues to functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.sources.targets import queue_url
from redrive.services.lambda_.limits import (
    BATCH_SIZE_DEFAULT,
    BATCH_SIZE_WITHOUT_WINDOW_MAX,
    MAPPING_PAGE_ITEMS_MAX,
    TAGS_MAX,
)
from redrive.services.lambda_.model.function import (
    Function,
    invalid_parameter,
    lambda_error,
    parse_reference,
    refuse_given,
    unavailable,
)
from redrive.services.lambda_.model.mapping import EventSourceMapping, mapping_arn, mapping_document
from redrive.services.lambda_.operations.functions import authorized_reference
from redrive.services.lambda_.queues import authorize_on_queue
from redrive.services.lambda_.runs import function_caller
from redrive.services.lambda_.versions import get_version
from redrive.services.lambda_.watches import look_no_more, look_now
from redrive.store.api import Transaction

_QUEUE_MISSING = frozenset({"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"})
_ROLE_ACTIONS = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")


@operation("CreateEventSourceMapping")
def create_event_source_mapping(
    tx: Transaction, caller: Caller, *,
    function_name: str, event_source_arn: str | None = None, enabled: bool = True, batch_size: int = BATCH_SIZE_DEFAULT,
    filter_criteria: Document | None = None, kms_key_arn: str = "", metrics_config: Document | None = None,
    logging_config: Document | None = None, scaling_config: Document | None = None,
    maximum_batching_window_in_seconds: int = 0, parallelization_factor: int | None = None,
    starting_position: str | None = None, starting_position_timestamp: Instant | None = None,
    destination_config: Document | None = None, maximum_record_age_in_seconds: int | None = None,
    bisect_batch_on_function_error: bool | None = None, maximum_retry_attempts: int | None = None,
    tags: Mapping[str, str] | None = None, tumbling_window_in_seconds: int | None = None,
    topics: list[str] | None = None, queues: list[str] | None = None,
    source_access_configurations: list[Document] | None = None, self_managed_event_source: Document | None = None,
    function_response_types: list[str] | None = None,
    amazon_managed_kafka_event_source_config: Document | None = None,
    self_managed_kafka_event_source_config: Document | None = None,
    document_db_event_source_config: Document | None = None, provisioned_poller_config: Document | None = None,
) -> Document:  # fmt: skip
    """Create a mapping that sends the messages of a queue to a function.

    The answer says `Creating` or `Disabled`; an enabled mapping polls at once.

    Errors: ResourceNotFoundException (function); ResourceConflictException (a mapping of this queue and function
    exists); InvalidParameterValueException (queue, the role's permissions, a visibility timeout shorter than the
    function's timeout, a batching window for a FIFO queue, a setting that queues do not have or that is unsupported).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
    """
    reference = authorized_reference(tx, caller, "lambda:CreateEventSourceMapping", function_name)
    _check_source(event_source_arn)
    refuse_given(
        FilterCriteria=(filter_criteria or {}).get("Filters"), ProvisionedPollerConfig=provisioned_poller_config,
        SelfManagedEventSource=self_managed_event_source,
    )  # fmt: skip
    if starting_position is not None:
        raise invalid_parameter("StartingPosition is not valid for SQS event sources.")
    _refuse_other_sources(
        LoggingConfig=logging_config, ParallelizationFactor=parallelization_factor,
        StartingPositionTimestamp=starting_position_timestamp, DestinationConfig=destination_config,
        MaximumRecordAgeInSeconds=maximum_record_age_in_seconds,
        BisectBatchOnFunctionError=bisect_batch_on_function_error, MaximumRetryAttempts=maximum_retry_attempts,
        TumblingWindowInSeconds=tumbling_window_in_seconds, Topics=topics, Queues=queues,
        SourceAccessConfigurations=source_access_configurations,
        AmazonManagedKafkaEventSourceConfig=amazon_managed_kafka_event_source_config,
        SelfManagedKafkaEventSourceConfig=self_managed_kafka_event_source_config,
        DocumentDBEventSourceConfig=document_db_event_source_config,
    )  # fmt: skip
    if len(tags or {}) > TAGS_MAX:
        raise invalid_parameter("Number of tags exceeds resource tag limit.")
    uuid = new_uuid(tx.entropy)
    mapping = EventSourceMapping(
        name=uuid, arn=mapping_arn(caller.region, caller.account, uuid), source_arn=str(event_source_arn),
        function_name=reference.name, function_arn=reference.qualified_arn, modified_at=tx.now, enabled=enabled,
        batch_size=batch_size, window_s=maximum_batching_window_in_seconds,
        concurrency_max=(scaling_config or {}).get("MaximumConcurrency"),
        reports_failures=bool(function_response_types), metrics=tuple((metrics_config or {}).get("Metrics") or ()),
        kms_key_arn=kms_key_arn, tags=dict(tags or {}),
    )  # fmt: skip
    _check(tx, caller, mapping, get_version(tx, reference))
    tx.resources.put(caller.scope, mapping)
    look_now(tx, caller.scope, mapping)
    return mapping_document(mapping, state="Creating" if enabled else None)


@operation("GetEventSourceMapping")
def get_event_source_mapping(tx: Transaction, caller: Caller, *, uuid: str) -> Document:
    """Return a mapping.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetEventSourceMapping.html
    """
    return mapping_document(_authorized_mapping(tx, caller, "lambda:GetEventSourceMapping", uuid))


@operation("ListEventSourceMappings")
def list_event_source_mappings(
    tx: Transaction, caller: Caller, *,
    event_source_arn: str | None = None, function_name: str | None = None, marker: str = "",
    max_items: int = MAPPING_PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """List the mappings of a queue, of a function, or all mappings, sorted by UUID, at most 100 per page.

    The list is empty for a function that does not exist.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListEventSourceMappings.html
    """
    tx.services.authorize(tx, caller, "lambda:ListEventSourceMappings", "*")
    named = None if function_name is None else parse_reference(function_name, None, caller.scope).name
    limit = min(max_items, MAPPING_PAGE_ITEMS_MAX)
    found = [
        mapping
        for mapping in tx.resources.list(EventSourceMapping, caller.scope, after=marker)
        if event_source_arn in (None, mapping.source_arn) and named in (None, mapping.function_name)
    ]
    page = found[:limit]
    answer: Document = {"EventSourceMappings": [mapping_document(mapping) for mapping in page]}
    if len(found) > limit:
        answer["NextMarker"] = page[-1].name
    return answer


@operation("UpdateEventSourceMapping")
def update_event_source_mapping(
    tx: Transaction, caller: Caller, *,
    uuid: str, function_name: str | None = None, enabled: bool | None = None, batch_size: int | None = None,
    filter_criteria: Document | None = None, kms_key_arn: str | None = None, metrics_config: Document | None = None,
    logging_config: Document | None = None, scaling_config: Document | None = None,
    maximum_batching_window_in_seconds: int | None = None, parallelization_factor: int | None = None,
    destination_config: Document | None = None, maximum_record_age_in_seconds: int | None = None,
    bisect_batch_on_function_error: bool | None = None, maximum_retry_attempts: int | None = None,
    tumbling_window_in_seconds: int | None = None, source_access_configurations: list[Document] | None = None,
    function_response_types: list[str] | None = None,
    amazon_managed_kafka_event_source_config: Document | None = None,
    self_managed_kafka_event_source_config: Document | None = None,
    document_db_event_source_config: Document | None = None, provisioned_poller_config: Document | None = None,
) -> Document:  # fmt: skip
    """Change parts of a mapping; running batches do not change. An empty `ScalingConfig` removes the bound.

    Errors: ResourceNotFoundException; InvalidParameterValueException (as CreateEventSourceMapping).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html
    """
    mapping = _authorized_mapping(tx, caller, "lambda:UpdateEventSourceMapping", uuid)
    refuse_given(
        FilterCriteria=(filter_criteria or {}).get("Filters"), ProvisionedPollerConfig=provisioned_poller_config
    )
    _refuse_other_sources(
        LoggingConfig=logging_config, ParallelizationFactor=parallelization_factor,
        DestinationConfig=destination_config, MaximumRecordAgeInSeconds=maximum_record_age_in_seconds,
        BisectBatchOnFunctionError=bisect_batch_on_function_error, MaximumRetryAttempts=maximum_retry_attempts,
        TumblingWindowInSeconds=tumbling_window_in_seconds, SourceAccessConfigurations=source_access_configurations,
        AmazonManagedKafkaEventSourceConfig=amazon_managed_kafka_event_source_config,
        SelfManagedKafkaEventSourceConfig=self_managed_kafka_event_source_config,
        DocumentDBEventSourceConfig=document_db_event_source_config,
    )  # fmt: skip
    reference = parse_reference(function_name or mapping.function_arn, None, caller.scope)
    scaling, metrics = scaling_config, metrics_config
    updated = replace(
        mapping,
        function_name=reference.name,
        function_arn=reference.qualified_arn,
        modified_at=tx.now,
        enabled=mapping.enabled if enabled is None else enabled,
        batch_size=batch_size or mapping.batch_size,
        window_s=_or(maximum_batching_window_in_seconds, mapping.window_s),
        concurrency_max=mapping.concurrency_max if scaling is None else scaling.get("MaximumConcurrency"),
        reports_failures=mapping.reports_failures if function_response_types is None else bool(function_response_types),
        metrics=mapping.metrics if metrics is None else tuple(metrics.get("Metrics") or ()),
        kms_key_arn=mapping.kms_key_arn if kms_key_arn is None else kms_key_arn,
    )
    _check(tx, caller, updated, get_version(tx, reference))
    tx.resources.put(caller.scope, updated)
    look_now(tx, caller.scope, updated)
    return mapping_document(updated, state=_passing_state(mapping, updated))


@operation("DeleteEventSourceMapping")
def delete_event_source_mapping(tx: Transaction, caller: Caller, *, uuid: str) -> Document:
    """Delete a mapping; running batches continue to their end.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteEventSourceMapping.html
    """
    mapping = _authorized_mapping(tx, caller, "lambda:DeleteEventSourceMapping", uuid)
    tx.resources.delete(EventSourceMapping, caller.scope, uuid)
    look_no_more(tx, caller.scope, mapping)
    return mapping_document(mapping, state="Deleting")


def _passing_state(before: EventSourceMapping, after: EventSourceMapping) -> str:
    """Return the temporary state of the mapping, which the answer to a change shows."""
    if before.enabled == after.enabled:
        return "Updating"
    return "Enabling" if after.enabled else "Disabling"


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _authorized_mapping(tx: Transaction, caller: Caller, action: str, uuid: str) -> EventSourceMapping:
    tx.services.authorize(tx, caller, action, mapping_arn(caller.region, caller.account, uuid))
    mapping = tx.resources.get(EventSourceMapping, caller.scope, uuid)
    if mapping is None:
        raise lambda_error("ResourceNotFoundException", "The resource you requested does not exist.")
    return mapping


def _check_source(event_source_arn: str | None) -> None:
    """Only queues are event sources here; no table has a stream.

    Errors: InvalidParameterValueException.
    """
    try:
        source = Arn.parse(event_source_arn or "")
    except ValueError:
        raise invalid_parameter("Unrecognized event source.") from None
    if source.service == "dynamodb":
        raise invalid_parameter(f"Stream not found: {event_source_arn}")
    if source.service != "sqs":
        raise unavailable(f"EventSourceArn {event_source_arn}")


def _refuse_other_sources(**parameters: object) -> None:
    """Refuse parameters that only streams, topics and brokers have."""
    for name, value in parameters.items():
        if value is not None:
            raise invalid_parameter(f"Unsupported {name} parameter for given event source mapping type.")


def _check(tx: Transaction, caller: Caller, mapping: EventSourceMapping, function: Function) -> None:
    """Check a mapping before it is stored."""
    if mapping.batch_size > BATCH_SIZE_WITHOUT_WINDOW_MAX and mapping.window_s == 0:
        raise invalid_parameter(
            "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than "
            f"{BATCH_SIZE_WITHOUT_WINDOW_MAX}"
        )
    if mapping.is_fifo and mapping.window_s > 0:
        # So batches of a FIFO queue have at most ten messages.
        raise invalid_parameter("Batching window is not supported for FIFO queues")
    for other in tx.resources.list(EventSourceMapping, caller.scope):
        is_twin = other.source_arn == mapping.source_arn and other.function_name == mapping.function_name
        if is_twin and other.name != mapping.name:
            raise lambda_error(
                "ResourceConflictException",
                f'An event source mapping with SQS arn (" {mapping.source_arn} ") and function (" {function.name} ") '
                f"already exists. Please update or delete the existing mapping with UUID {other.name}",
            )
    visibility_s = _queue_visibility_s(tx, caller, mapping, function)
    if visibility_s < function.timeout_s:
        raise invalid_parameter(
            f"Queue visibility timeout: {visibility_s} seconds is less than "
            f"Function timeout: {function.timeout_s} seconds"
        )


def _queue_visibility_s(tx: Transaction, caller: Caller, mapping: EventSourceMapping, function: Function) -> int:
    """Return the queue's visibility timeout, read as the function's role.

    The role must have all permissions for polling.
    """
    session = None
    for action in _ROLE_ACTIONS:
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
