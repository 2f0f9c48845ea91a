"""Subscriptions of registered consumers: what a subscriber receives next, and who may subscribe.

    begin ─► events now ─► wait for the stream's topic ─► events … ─► the end

It ends after five minutes, at the end of a closed shard, or because a newer subscription took over.

Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.delivery.operation import Continuation, EventStream
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.descriptions import describe_child
from redrive.services.kinesis.model.metrics import subscription_metrics_of
from redrive.services.kinesis.model.requests import in_use, stream_not_found
from redrive.services.kinesis.model.sequence import sequence_number
from redrive.services.kinesis.model.stream import Consumer, Shard, Stream
from redrive.services.kinesis.model.subscription import Subscription, subscription_name, subscription_prefix
from redrive.services.kinesis.reading import children_of, describe_record, last_number, number_of, read_records, size_of
from redrive.store.api import Transaction
from redrive.store.tables.streams import StreamRecord

_NAME = "EventStream"
_EVENT = "SubscribeToShardEvent"


@dataclass(frozen=True, slots=True)
class _Subscriber:
    """A subscription under way, and the number of the record after which it goes on."""

    scope: Scope
    stream: str
    stream_id: str
    consumer: Consumer
    shard: int
    own: Subscription
    after: int
    told_at: int = 0
    ready_at: int = 0
    """When the records that were sent have taken their time at 2 MB per second."""


def subscribe(tx: Transaction, stream: Stream, consumer: Consumer, shard: Shard, after: int) -> EventStream:
    """Begin a subscription after a record; it takes over from an earlier one.

    Errors: ResourceInUseException (the earlier one began less than five seconds ago).
    """
    name = subscription_name(stream, consumer, shard)
    earlier = tx.resources.get(Subscription, stream.scope, name)
    if earlier is not None and earlier.is_held(tx.now):
        raise in_use(
            f"Another active subscription exists for this consumer: {stream.scope.account}:{stream.name}:"
            f"{consumer.name}, shard {shard.id}"
        )
    own = Subscription(name, tx.entropy.hex(16), tx.now)
    tx.resources.put(stream.scope, own)
    if earlier is not None:
        tx.notify(stream.topic)
    tx.metrics.count(subscription_metrics_of(stream.arn, consumer.name).begun, tx.now)
    subscriber = _Subscriber(stream.scope, stream.name, stream.id, consumer, shard.index, own, after)
    return _next(tx, subscriber, stream, shard)


def forget_subscriptions(tx: Transaction, stream: Stream, consumer: Consumer) -> None:
    """Forget the subscriptions of a consumer that is no more. Those under way end with their next step."""
    prefix = subscription_prefix(stream, consumer)
    while found := tx.resources.list(Subscription, stream.scope, prefix=prefix):
        for subscription in found:
            tx.resources.delete(Subscription, stream.scope, subscription.name)


def _resume(tx: Transaction, subscriber: _Subscriber) -> EventStream | ServiceError:
    """The next events of a subscription, or why it ends."""
    stream = tx.resources.get(Stream, subscriber.scope, subscriber.stream)
    if stream is None or stream.id != subscriber.stream_id:
        return stream_not_found(subscriber.scope, subscriber.stream)
    consumer = subscriber.consumer
    if all(one.arn != consumer.arn for one in stream.consumers):
        message = f"Consumer {consumer.arn} under account {subscriber.scope.account} not found."
        return ServiceError("ResourceNotFoundException", message)
    latest = tx.resources.get(Subscription, subscriber.scope, subscriber.own.name)
    if latest is None or latest.id != subscriber.own.id:
        return in_use(f"Consumer {consumer.arn} has subscribed to this shard again.")
    shard = stream.shard(subscriber.shard)
    if shard is None or tx.now >= subscriber.own.ends_at:
        _leave(tx, subscriber)
        return EventStream(_NAME, {}, ())
    return _next(tx, subscriber, stream, shard)


def _next(tx: Transaction, subscriber: _Subscriber, stream: Stream, shard: Shard) -> EventStream:
    """The records that there are now. A subscriber without records is told from time to time how far it is."""
    if tx.now < subscriber.ready_at:
        return EventStream(_NAME, {}, (), _more(tx, subscriber, stream, behind_ms=1))
    last = last_number(tx, stream, shard)
    records = read_records(
        tx, stream, shard, subscriber.after, last=last, limit=limits.RECORDS_MAX, bytes_max=limits.EVENT_BYTES_MAX
    )
    after = records[-1].seq if records else last
    is_end = not shard.is_open and after >= last
    behind_ms = max(1, tx.now - records[-1].at) if after < last else 0
    if not records and not is_end and subscriber.told_at and tx.now - subscriber.told_at < limits.QUIET_MS:
        return EventStream(_NAME, {}, (), _more(tx, subscriber, stream, behind_ms=behind_ms))
    event: Document = {
        "Records": [describe_record(stream, shard, record) for record in records],
        "MillisBehindLatest": behind_ms,
    }
    if is_end:
        event["ChildShards"] = [describe_child(child) for child in children_of(stream, shard, tx.now)]
    else:
        event["ContinuationSequenceNumber"] = (
            number_of(shard, records[-1]) if records else sequence_number(shard.created_s, shard.index, after, tx.now)
        )
    metrics = subscription_metrics_of(stream.arn, subscriber.consumer.name)
    tx.metrics.count(metrics.events, tx.now)
    tx.metrics.count(metrics.records, tx.now, len(records))
    tx.metrics.count(metrics.bytes, tx.now, sum(map(size_of, records)))
    tx.metrics.count(metrics.behind, tx.now, behind_ms)
    if is_end:
        _leave(tx, subscriber)
        return EventStream(_NAME, {}, ({_EVENT: event},))
    told = replace(subscriber, after=after, told_at=tx.now, ready_at=_ready_at(tx, records))
    return EventStream(_NAME, {}, ({_EVENT: event},), _more(tx, told, stream, behind_ms=behind_ms))


def _ready_at(tx: Transaction, records: Sequence[StreamRecord]) -> Instant:
    """When more may be sent after these records: at once, where requests per second are not limited."""
    if not tx.services.has_rates:
        return 0
    return tx.now + sum(map(size_of, records)) * SECOND_MS // limits.SUBSCRIBER_BYTES_PER_S_MAX


def _more(tx: Transaction, subscriber: _Subscriber, stream: Stream, *, behind_ms: int) -> Continuation:
    quiet_until = subscriber.told_at + limits.QUIET_MS
    return Continuation(
        resume=lambda later: _resume(later, subscriber),
        topics=(stream.topic,),
        again_at=max(tx.now, subscriber.ready_at) if behind_ms else min(quiet_until, subscriber.own.ends_at),
        leave=lambda later: _leave(later, subscriber),
    )


def _leave(tx: Transaction, subscriber: _Subscriber) -> None:
    """End a subscription, unless a newer one has taken over, or a call within five seconds has to be refused yet."""
    latest = tx.resources.get(Subscription, subscriber.scope, subscriber.own.name)
    if latest is not None and latest.id == subscriber.own.id and not latest.is_held(tx.now):
        tx.resources.delete(Subscription, subscriber.scope, latest.name)
