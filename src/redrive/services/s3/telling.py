"""Tells of what happened to objects: to the targets of a bucket's notifications, and to EventBridge.

Each notification is promised in the transaction that changes the object; queues accept at once (`delivery/sources/
at_once.py`). A bucket without notifications costs one look into its document.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.own_events import OwnEvent
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Caller
from redrive.delivery.faults import Fault, all_faults
from redrive.delivery.history.records import Origin
from redrive.delivery.sources.at_once import deliver_to_queues
from redrive.delivery.told_faults import waits_of
from redrive.services.s3 import limits
from redrive.services.s3.calls import origin_of, queue_params, service_caller
from redrive.services.s3.model.bucket import Bucket, bucket_arn
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.notification import EVENT_BRIDGE, SETTING, destinations_of
from redrive.services.s3.model.notification_records import customer_id, detail_of, detail_type, record_text
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, Delivery

SOURCE = "s3"
POLICY = RetryPolicy()
"""AWS publishes no curve for S3. S3's events are durable, and such services retry for 24 hours: the default policy."""

_QUEUES = "arn:aws:sqs:"


def tells(bucket: Bucket) -> bool:
    """Whether anybody may want to know what happens in a bucket."""
    return bool(bucket.settings.get(SETTING))


def tell(tx: Transaction, caller: Caller, bucket: Bucket, happened: Happened) -> None:
    """Promise, in this transaction, each notification that the bucket's configuration asks for."""
    configuration = bucket.settings.get(SETTING)
    if not configuration:
        return
    faults = all_faults(tx).faults
    if EVENT_BRIDGE in configuration and detail_type(happened.name):
        _tell_bus(tx, caller, bucket, happened, faults)
    chosen = [one for one in destinations_of(configuration) if one.wants(happened.name, happened.key)]
    if not chosen:
        return
    principal_id = _principal_id(tx, caller)
    deliveries: list[Delivery] = []
    for one in chosen:
        text = record_text(
            bucket, happened, at=tx.now, configuration_id=one.id, request_id=caller.request_id,
            principal_id=principal_id,
        )  # fmt: skip
        document = _document(tx, caller, {"kind": one.kind.service, "text": text})
        deliveries += _deliveries(tx, bucket, happened, one.arn, document, faults)
    _deliver_or_promise(tx, deliveries)


def _tell_bus(
    tx: Transaction, caller: Caller, bucket: Bucket, happened: Happened, faults: Sequence[Fault]
) -> None:  # fmt: skip
    """Put the event on the default bus of the bucket's account and Region: now, or later if a fault says so."""
    make = partial(_own_event, bucket, happened, caller.request_id, caller.account, tx.now)
    if not faults:
        tx.services.publish_event(tx, bucket.scope, make)
        return
    bus = str(Arn("events", bucket.region, bucket.account, "event-bus/default"))
    is_disturbed = any(fault.is_aimed_at(bus) for fault in faults)
    own = make()
    document = _document(tx, caller, {"kind": "events", "type": own.detail_type, "detail": own.detail})
    for delivery in _deliveries(tx, bucket, happened, bus, document, faults):
        if delivery.due_at > tx.now or is_disturbed:
            _promise(tx, [delivery])
        else:
            tx.services.publish_event(tx, bucket.scope, make)


def _own_event(bucket: Bucket, happened: Happened, request_id: str, requester: str, at: Instant) -> OwnEvent:
    detail = detail_of(bucket, happened, request_id=request_id, requester=requester)
    return OwnEvent("aws.s3", detail_type(happened.name), detail, (bucket.arn,), at)


def _deliveries(
    tx: Transaction, bucket: Bucket, happened: Happened, target_arn: str, document: Document, faults: Sequence[Fault]
) -> list[Delivery]:  # fmt: skip
    """The deliveries of one notification: one, unless a fault doubles it."""
    waits: Sequence[int] = (0,)
    if faults:
        waits = waits_of(tx, bucket_arn(f"{bucket.name}/{happened.key}"), happened.name)
    return [
        Delivery(
            id=new_row_id(tx.entropy, tx.now), scope=bucket.scope, source=SOURCE, source_arn=bucket.arn,
            target_arn=target_arn, document=document, policy=POLICY, place=INSIDE, due_at=tx.now + wait_ms,
            first_at=tx.now + wait_ms,
        )
        for wait_ms in waits
    ]  # fmt: skip


def _document(tx: Transaction, caller: Caller, told: Document) -> Document:
    """What a delivery keeps: what it says, and what caused it."""
    if caller.trace_header:
        told["trace"] = caller.trace_header
    if tx.cause is not None:
        told |= {"execution": tx.cause.execution_id, "cause": tx.cause.delivery_id}
    return {**told, "at": tx.now}


def _principal_id(tx: Transaction, caller: Caller) -> str:
    """The requester as records name them: the id of a user, of a role and its session, or of the account."""
    if caller.service:
        return caller.service
    holder_id = tx.services.holder_id(tx, caller)
    if not holder_id:
        return customer_id(caller.account)
    return f"AWS:{holder_id}" + (f":{caller.session_name}" if caller.role_arn is not None else "")


def _deliver_or_promise(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    _, sent = deliver_to_queues(
        tx, deliveries, _SENDER, is_queue=lambda arn: arn.startswith(_QUEUES), at_once_max=limits.AT_ONCE_MAX,
        together_max=limits.SENT_TOGETHER_MAX,
    )  # fmt: skip
    _promise(tx, [one for one in deliveries if one.id not in sent])


def _promise(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    for delivery in deliveries:
        tx.deliveries.put(delivery)
    if deliveries:
        tx.notify("due")


class _BucketSender:
    """What a bucket knows of its deliveries to queues."""

    def caller(self, tx: Transaction, delivery: Delivery, region: str) -> Caller:
        return service_caller(tx, delivery, region)

    def params(self, delivery: Delivery) -> Document | None:
        return queue_params(delivery)

    def origin(self, delivery: Delivery) -> Origin:
        return origin_of(delivery)

    def group_key(self, delivery: Delivery) -> object:
        return (delivery.target_arn, delivery.source_arn, delivery.document.get("trace"))


_SENDER = _BucketSender()
