"""The one way into a topic: messages are numbered and kept where the topic asks for that, matched against the filter
policies of its subscriptions, and delivered or promised, all in the transaction that accepts them.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import DAY_MS, parse_instant
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_row_id
from redrive.core.scope import Caller
from redrive.delivery.operation import Beforehand
from redrive.delivery.upkeep.worker import will_age
from redrive.services.sns import limits
from redrive.services.sns.at_once import deliver_or_promise
from redrive.services.sns.model import metrics
from redrive.services.sns.model.delivered import SOURCE, delivery_document, place_of, retry_policy
from redrive.services.sns.model.delivery_policy import effective, receives_per_s
from redrive.services.sns.model.filter_policy import attributes_event, body_event
from redrive.services.sns.model.message import Draft, message_document
from redrive.services.sns.model.subscription import HTTP_PROTOCOLS, Subscription
from redrive.services.sns.model.topic import Topic, TopicSequence
from redrive.services.sns.model.topic_attributes import retention_days
from redrive.services.sns.order import announce_lanes
from redrive.services.sns.rates import throttled
from redrive.services.sns.retention import RETENTION, archive_id
from redrive.services.sns.signing import signature_of, work_before_signing
from redrive.services.sns.subscribers import Subscribers, subscribers_of
from redrive.store.api import Transaction
from redrive.store.tables.archives import NewArchivedEvent
from redrive.store.tables.deliveries import Delivery

_SEQUENCE_BASE = 10_000_000_000_000_000_000


def publish(tx: Transaction, caller: Caller, topic: Topic, drafts: Sequence[Draft]) -> list[Document]:
    """Accept messages, and return the answer for each: its MessageId, and in a FIFO topic its SequenceNumber."""
    if topic.is_fifo and tx.is_shared:
        _announce(tx, topic, drafts)
    accepted = [_accepted(tx, caller, topic, draft) for draft in drafts]
    fresh = [message for message, is_new in accepted if is_new]
    _count(tx, topic, metrics.PUBLISHED, len(drafts))
    for draft in drafts:
        tx.metrics.count(metrics.series_of(topic.arn, metrics.SIZE), tx.now, draft.size)
    _archive(tx, topic, fresh)
    subscribers = subscribers_of(tx, topic.scope, topic.name)
    if subscribers.subscriptions and fresh:
        promised = [one for message in fresh for one in _deliveries(tx, caller, topic, subscribers, message)]
        if promised:
            deliver_or_promise(tx, promised)
    return [
        {"MessageId": message["id"], **({"SequenceNumber": message["sequence"]} if topic.is_fifo else {})}
        for message, _ in accepted
    ]


def work_before_publishing(tx: Transaction, topic: Topic) -> Beforehand | None:
    """What has to be done before a message of the topic is signed for the first time; None otherwise."""
    if topic.is_fifo or not subscribers_of(tx, topic.scope, topic.name).has_signed:
        return None
    return work_before_signing(tx)


def deliveries_to(
    tx: Transaction, topic: Topic, subscription: Subscription, messages: Sequence[Document]
) -> list[Delivery]:  # fmt: skip
    """The deliveries of messages to one subscription, as far as its filter policy lets them through."""
    subscribers = subscribers_of(tx, topic.scope, topic.name)
    chosen = [one for one in messages if subscription in _matching(tx, topic, subscribers, one)]
    return [_delivery(tx, topic, subscription, message, "") for message in chosen]


def _announce(tx: Transaction, topic: Topic, drafts: Sequence[Draft]) -> None:
    """Say what this step will reserve: the topic's sequence comes first, and the queues of the subscribers last."""
    subscriptions = subscribers_of(tx, topic.scope, topic.name).subscriptions.values()
    queues = [one for one in subscriptions if one.protocol == "sqs"]
    tx.services.announce_queues(tx, {one.endpoint for one in queues})
    announce_lanes(tx, [one.arn for one in queues], [str(draft.group) for draft in drafts])


def _accepted(tx: Transaction, caller: Caller, topic: Topic, draft: Draft) -> tuple[Document, bool]:
    """The document of a message, and whether it is new: a FIFO topic remembers messages for five minutes."""
    message_id = new_row_id(tx.entropy, tx.now)
    if not topic.is_fifo:
        made = message_document(draft, message_id=message_id, topic_arn=topic.arn, at=tx.now, host=caller.host)
        return made, True
    assert draft.dedup is not None
    assert draft.group is not None
    sequence = tx.resources.get(TopicSequence, topic.scope, topic.name) or TopicSequence(topic.name)
    scope = draft.group if topic.is_scoped_by_group else ""
    known = tx.dedup.find_send(topic.id, scope, draft.dedup, tx.now)
    if known is not None:
        return {"id": known[0], "sequence": str(_SEQUENCE_BASE + known[1])}, False
    number = sequence.count + 1
    tx.resources.put(topic.scope, TopicSequence(topic.name, number))
    expires_at = tx.now + limits.DEDUPLICATION_MS
    tx.dedup.remember_send(topic.id, scope, draft.dedup, message_id=message_id, seq=number, expires_at=expires_at)
    will_age(tx, RETENTION, expires_at)
    made = message_document(
        draft, message_id=message_id, topic_arn=topic.arn, at=tx.now, sequence=str(_SEQUENCE_BASE + number),
        host=caller.host,
    )  # fmt: skip
    return made, True


def _archive(tx: Transaction, topic: Topic, messages: Sequence[Document]) -> None:
    """Keep messages for replays, if the topic has an archive."""
    days = retention_days(topic)
    if not days or not messages:
        return
    texts = [dump_json(message) for message in messages]
    kept = [
        NewArchivedEvent(parse_instant(message["at"]), len(text.encode()), text)
        for message, text in zip(messages, texts, strict=True)
    ]
    tx.archives.put_many(archive_id(topic), kept, now=tx.now)
    will_age(tx, RETENTION, tx.now + days * DAY_MS)


def _deliveries(
    tx: Transaction, caller: Caller, topic: Topic, subscribers: Subscribers, message: Document
) -> list[Delivery]:  # fmt: skip
    chosen = _matching(tx, topic, subscribers, message)
    if not topic.is_fifo:
        enveloped = {one.protocol for one in chosen if one.is_signed}
        if enveloped:
            version = topic.attributes.get("SignatureVersion", "1")
            message["signature"] = signature_of(tx, message, version, enveloped)
    # After a replay with an end, a subscription gets nothing until its ReplayPolicy is removed.
    return [_delivery(tx, topic, one, message, caller.trace_header) for one in chosen if not one.has_replay_end]


def _matching(
    tx: Transaction, topic: Topic, subscribers: Subscribers, message: Document
) -> list[Subscription]:  # fmt: skip
    """The subscriptions that get a message; what the others leave out is counted."""
    subscriptions = subscribers.subscriptions
    filtered: set[str] = set()
    if subscribers.attributes_matcher is not None:
        attributes = message.get("attributes", {})
        out = subscribers.by_attributes - subscribers.attributes_matcher.matching(attributes_event(attributes))
        _count_filtered(
            tx, topic, len(out), metrics.FILTERED_ATTRIBUTES if attributes else metrics.FILTERED_NO_ATTRIBUTES
        )
        filtered |= out
    if subscribers.body_matcher is not None:
        event = body_event(str(message["text"]))
        found: frozenset[str] = frozenset() if event is None else subscribers.body_matcher.matching(event)
        out = subscribers.by_body - found
        _count_filtered(tx, topic, len(out), metrics.FILTERED_INVALID_BODY if event is None else metrics.FILTERED_BODY)
        filtered |= out
    return [one for key, one in subscriptions.items() if key not in filtered]


def _delivery(tx: Transaction, topic: Topic, one: Subscription, message: Document, trace: str) -> Delivery:
    topic_policy = topic.attributes.get("DeliveryPolicy", "")
    content_type, per_s = "", 0
    if one.protocol in HTTP_PROTOCOLS:
        shown = effective(topic_policy, one.attributes.get("DeliveryPolicy", ""))
        content_type = str(shown["requestPolicy"]["headerContentType"])
        per_s = receives_per_s(shown)
    document = delivery_document(message, one, content_type)
    if trace:
        document["trace"] = trace
    if tx.cause is not None:
        document |= {"execution": tx.cause.execution_id, "cause": tx.cause.delivery_id}
    # Deliveries that are due at one instant go out in the order of their ids.
    key = f"{message['sequence']}.{message['id']}" if "sequence" in message else str(message["id"])
    again = f".{tx.entropy.ordered(tx.now)}" if "replayed" in message else ""
    made = Delivery(
        id=f"{key}{again}/{one.id}", scope=topic.scope, source=SOURCE, source_arn=one.arn, target_arn=one.endpoint,
        document=document, policy=retry_policy(one, topic_policy), place=place_of(one.protocol), due_at=tx.now,
        first_at=tx.now,
    )  # fmt: skip
    return throttled(tx, made, per_s) if per_s else made


def _count(tx: Transaction, topic: Topic, name: str, times: int) -> None:
    tx.metrics.count(metrics.series_of(topic.arn, name), tx.now, times=times)


def _count_filtered(tx: Transaction, topic: Topic, times: int, why: str) -> None:
    if times:
        _count(tx, topic, metrics.FILTERED, times)
        _count(tx, topic, why, times)
