"""Vended logs: records that a service writes about its own resource go where deliveries say.

The other services reach this module through `tx.services`. A record that cannot be written is lost, as on AWS: the log
group is gone, or no policy allows it. While there is no delivery, asking costs a look into a list in memory.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.logs import limits
from redrive.services.logs.model.batch import event_bytes
from redrive.services.logs.model.delivery import PRINCIPAL, DestinationType, LogDelivery, source_arn
from redrive.services.logs.model.group import LogGroup, LogStream, policy_arn, stream_key
from redrive.services.logs.permissions import service_policy
from redrive.store.api import Transaction

_NOBODY: frozenset[str] = frozenset()


def vended_log_types(tx: Transaction, resource_arn: str) -> frozenset[str]:
    """The types of logs of a resource that anybody takes."""
    known = tx.resources.everywhere(LogDelivery)
    if not known:
        return _NOBODY
    return frozenset(delivery.log_type for _, delivery in known if delivery.resource_arn == resource_arn)


def vend_logs(tx: Transaction, resource_arn: str, stream: str, records: Mapping[str, Sequence[Document]]) -> None:
    """Write records of a resource, by the type of log, into this stream of the groups that take them."""
    for scope, delivery in tx.resources.everywhere(LogDelivery):
        taken = records.get(delivery.log_type, ())
        if delivery.resource_arn == resource_arn and delivery.type is DestinationType.CWL and taken:
            _write(tx, scope, delivery, stream, taken)


def may_write(tx: Transaction, scope: Scope, delivery: LogDelivery) -> bool:
    """Whether the resource policies let a delivery write to its group."""
    caller = _caller(tx, scope, delivery)
    arn = policy_arn(scope, delivery.group_name, "log")
    try:
        for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
            tx.services.authorize(tx, caller, action, arn, policy=service_policy(tx, caller))
    except ServiceError:
        return False
    return True


def _caller(tx: Transaction, scope: Scope, delivery: LogDelivery) -> Caller:
    return Caller(scope, new_uuid(tx.entropy), service=PRINCIPAL, source_arn=source_arn(scope, delivery.source_name))


def _write(
    tx: Transaction, scope: Scope, delivery: LogDelivery, stream: str, records: Sequence[Document]
) -> None:  # fmt: skip
    from redrive.services.logs.operations.events import put_log_events  # noqa: PLC0415 - Few resources vend logs.
    from redrive.services.logs.operations.streams import create_log_stream  # noqa: PLC0415 - as above.

    caller = _caller(tx, scope, delivery)
    group = tx.resources.get(LogGroup, scope, delivery.group_name)
    if group is None:
        return
    wanted = delivery.record_fields
    events = [
        {
            "timestamp": tx.now,
            "message": dump_json({key: one[key] for key in one if key in wanted} if wanted else one),
        }
        for one in records
    ]
    try:
        with tx.savepoint():
            if tx.resources.get(LogStream, scope, stream_key(group.id, stream)) is None:
                create_log_stream(tx, caller, log_group_name=group.name, log_stream_name=stream)
            for batch in _batches(events):
                put_log_events(tx, caller, log_group_name=group.name, log_stream_name=stream, log_events=batch)
    except ServiceError:
        return


def _batches(events: Sequence[Document]) -> Iterator[list[Document]]:
    """The events in pieces that one call of PutLogEvents takes."""
    batch: list[Document] = []
    size = 0
    for event in events:
        weight = event_bytes(event["message"])
        if batch and size + weight > limits.BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += weight
    if batch:
        yield batch
