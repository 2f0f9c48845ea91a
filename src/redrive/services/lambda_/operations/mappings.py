"""The operations on mappings from queues and streams to functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import (
    BATCH_SIZE_DEFAULT,
    MAPPING_PAGE_ITEMS_MAX,
    STREAM_BATCH_SIZE_DEFAULT,
    TAGS_MAX,
)
from redrive.services.lambda_.mapping_checks import (
    STREAMS,
    check_queue_mapping,
    check_start,
    check_stream_mapping,
    missing_parameter,
    refuse_for_source,
    source_service,
)
from redrive.services.lambda_.model.filters import read_filters
from redrive.services.lambda_.model.function import (
    Function,
    invalid_parameter,
    lambda_error,
    parse_reference,
    refuse_given,
)
from redrive.services.lambda_.model.mapping import EventSourceMapping, mapping_arn, mapping_document, read_pollers
from redrive.services.lambda_.model.stream_settings import Given, StreamSettings
from redrive.services.lambda_.operations.functions import authorized_reference
from redrive.services.lambda_.paces import calm
from redrive.services.lambda_.shard_states import begin, forget
from redrive.services.lambda_.versions import get_version
from redrive.services.lambda_.watches import look_no_more, look_now
from redrive.store.api import Transaction


@operation("CreateEventSourceMapping")
def create_event_source_mapping(
    tx: Transaction, caller: Caller, *,
    function_name: str, event_source_arn: str | None = None, enabled: bool = True, batch_size: int | None = None,
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
    """Create a mapping that sends the messages of a queue, or the records of a stream, to a function.

    The answer says `Creating` or `Disabled`; an enabled mapping polls at once.

    Errors: ResourceNotFoundException (function); ResourceConflictException (a mapping of this source and function
    exists); InvalidParameterValueException (source, the role's permissions, a visibility timeout shorter than the
    function's timeout, a batching window for a FIFO queue, a filter, a setting that the source does not have).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
    """
    reference = authorized_reference(tx, caller, "lambda:CreateEventSourceMapping", function_name)
    service = source_service(event_source_arn)
    refuse_given(SelfManagedEventSource=self_managed_event_source)
    given = Given(
        destination_config=destination_config, maximum_record_age_in_seconds=maximum_record_age_in_seconds,
        bisect_batch_on_function_error=bisect_batch_on_function_error, maximum_retry_attempts=maximum_retry_attempts,
        parallelization_factor=parallelization_factor, tumbling_window_in_seconds=tumbling_window_in_seconds,
    )  # fmt: skip
    refuse_for_source(
        {
            "LoggingConfig": logging_config, "Topics": topics, "Queues": queues,
            "SourceAccessConfigurations": source_access_configurations,
            "AmazonManagedKafkaEventSourceConfig": amazon_managed_kafka_event_source_config,
            "SelfManagedKafkaEventSourceConfig": self_managed_kafka_event_source_config,
            "DocumentDBEventSourceConfig": document_db_event_source_config,
        }
    )  # fmt: skip
    stream: StreamSettings | None = None
    if service in STREAMS:
        refuse_for_source({"ScalingConfig": scaling_config, "ProvisionedPollerConfig": provisioned_poller_config})
        if starting_position is None:
            raise missing_parameter("startingPosition")
        stream = given.applied(StreamSettings(starting_position, starting_position_timestamp))
        check_start(str(event_source_arn), stream, tx.now)
    else:
        if starting_position is not None:
            raise invalid_parameter("StartingPosition is not valid for SQS event sources.")
        refuse_for_source({"StartingPositionTimestamp": starting_position_timestamp, **given.parameters})
    if len(tags or {}) > TAGS_MAX:
        raise invalid_parameter("Number of tags exceeds resource tag limit.")
    uuid = new_uuid(tx.entropy)
    mapping = EventSourceMapping(
        name=uuid, arn=mapping_arn(caller.region, caller.account, uuid), source_arn=str(event_source_arn),
        function_name=reference.name, function_arn=reference.qualified_arn, modified_at=tx.now, enabled=enabled,
        batch_size=batch_size or (BATCH_SIZE_DEFAULT if stream is None else STREAM_BATCH_SIZE_DEFAULT),
        window_s=maximum_batching_window_in_seconds,
        concurrency_max=(scaling_config or {}).get("MaximumConcurrency"),
        reports_failures=bool(function_response_types), metrics=tuple((metrics_config or {}).get("Metrics") or ()),
        kms_key_arn=kms_key_arn, tags=dict(tags or {}), filters=read_filters(filter_criteria, service),
        **read_pollers(provisioned_poller_config), stream=stream,
    )  # fmt: skip
    stored = _store(tx, caller, mapping, get_version(tx, reference))
    return mapping_document(stored, state="Creating" if enabled else None)


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
    """List the mappings of a source, of a function, or all mappings, sorted by UUID, at most 100 per page.

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
    given = Given(
        destination_config=destination_config, maximum_record_age_in_seconds=maximum_record_age_in_seconds,
        bisect_batch_on_function_error=bisect_batch_on_function_error, maximum_retry_attempts=maximum_retry_attempts,
        parallelization_factor=parallelization_factor, tumbling_window_in_seconds=tumbling_window_in_seconds,
    )  # fmt: skip
    refuse_for_source(
        {
            "LoggingConfig": logging_config, "SourceAccessConfigurations": source_access_configurations,
            "AmazonManagedKafkaEventSourceConfig": amazon_managed_kafka_event_source_config,
            "SelfManagedKafkaEventSourceConfig": self_managed_kafka_event_source_config,
            "DocumentDBEventSourceConfig": document_db_event_source_config,
        }
    )  # fmt: skip
    queue_only = {"ScalingConfig": scaling_config, "ProvisionedPollerConfig": provisioned_poller_config}
    refuse_for_source(given.parameters if mapping.stream is None else queue_only)
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
        filters=mapping.filters if filter_criteria is None else read_filters(filter_criteria, mapping.service),
        stream=None if mapping.stream is None else given.applied(mapping.stream),
    )
    if provisioned_poller_config is not None:
        updated = replace(updated, **read_pollers(provisioned_poller_config))
    stored = _store(tx, caller, updated, get_version(tx, reference))
    return mapping_document(stored, state=_passing_state(mapping, updated))


@operation("DeleteEventSourceMapping")
def delete_event_source_mapping(tx: Transaction, caller: Caller, *, uuid: str) -> Document:
    """Delete a mapping; running batches continue to their end.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteEventSourceMapping.html
    """
    mapping = _authorized_mapping(tx, caller, "lambda:DeleteEventSourceMapping", uuid)
    tx.resources.delete(EventSourceMapping, caller.scope, uuid)
    look_no_more(tx, caller.scope, mapping)
    calm(tx, caller.scope, mapping)
    forget(tx, caller.scope, mapping)
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


def _store(tx: Transaction, caller: Caller, mapping: EventSourceMapping, function: Function) -> EventSourceMapping:
    """Check a mapping and store it. An enabled one is looked at at the next claim."""
    if mapping.stream is None:
        check_queue_mapping(tx, caller, mapping, function)
    else:
        positions = check_stream_mapping(tx, caller, mapping, mapping.stream, function)
        if mapping.enabled and not mapping.stream.has_begun:
            mapping = replace(mapping, stream=replace(mapping.stream, has_begun=True))
            begin(tx, caller.scope, mapping, positions)
    tx.resources.put(caller.scope, mapping)
    look_now(tx, caller.scope, mapping)
    return mapping
