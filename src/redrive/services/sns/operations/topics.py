"""Operations on topics: create, list, show, change, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.clock import format_instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.languages.iam import request_tags
from redrive.services.sns import limits
from redrive.services.sns.access import authorize, existing_topic
from redrive.services.sns.model.delivery_policy import effective_topic_policy
from redrive.services.sns.model.requests import decode_token, encode_token, invalid
from redrive.services.sns.model.subscription import Subscription, SubscriptionsVersion
from redrive.services.sns.model.tags import read_tags
from redrive.services.sns.model.topic import Topic, TopicSequence, check_name, read_arn, topic_arn
from redrive.services.sns.model.topic_attributes import POLICY, retention_days, with_attributes
from redrive.services.sns.retention import archive_id
from redrive.services.sns.subscribers import all_subscriptions
from redrive.store.api import Transaction

_SHOWN_IF_SET = (
    "DeliveryPolicy", "SignatureVersion", "TracingConfig", "KmsMasterKeyId", "ArchivePolicy", "FifoThroughputScope",
    "MaximumMessageSize",
)  # fmt: skip


@operation("CreateTopic")
def create_topic(
    tx: Transaction, caller: Caller, *, name: str, attributes: Mapping[str, str] | None = None,
    tags: Sequence[Document] | None = None, data_protection_policy: str | None = None,
) -> Document:  # fmt: skip
    """Create a topic, or return the topic of the same name if its attributes and tags do not differ.

    Errors: InvalidParameterException; TopicLimitExceededException; TagLimitExceededException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
    """
    arn = topic_arn(caller.scope, name)
    given_tags = read_tags({}, tags or ())
    authorize(tx, caller, "sns:CreateTopic", arn, context=request_tags(given_tags))
    given = dict(attributes or {})
    is_fifo = given.get("FifoTopic", "").lower() == "true"
    check_name(name, is_fifo=is_fifo)
    known = tx.resources.get(Topic, caller.scope, name)
    if known is not None:
        _check_same(known, given, given_tags)
        return {"TopicArn": arn}
    if given_tags:
        authorize(tx, caller, "sns:TagResource", arn, context=request_tags(given_tags))
    _check_quota(tx, caller.scope, is_fifo=is_fifo)
    topic = Topic(name, tx.entropy.hex(12), arn, tx.now, tags=given_tags, data_protection=data_protection_policy or "")
    texts, policy = with_attributes(topic, given, "Attributes Reason: ")
    made = replace(topic, attributes=texts, policy=policy)
    tx.resources.put(caller.scope, _archiving(tx, topic, made))
    return {"TopicArn": arn}


@operation("DeleteTopic")
def delete_topic(tx: Transaction, caller: Caller, *, topic_arn: str) -> Document:
    """Delete a topic and its subscriptions. A topic that does not exist is no error.

    Errors: InvalidParameterException; InvalidStateException (the topic archives messages).
    Source: https://docs.aws.amazon.com/sns/latest/api/API_DeleteTopic.html
    """
    scope, name = read_arn(topic_arn, "TopicArn", caller.region)
    if tx.resources.get(Topic, scope, name) is None:
        authorize(tx, caller, "sns:DeleteTopic", topic_arn)
        return {}
    topic = existing_topic(tx, caller, topic_arn, "sns:DeleteTopic")
    if retention_days(topic):
        raise ServiceError(
            "InvalidStateException", "Cannot delete topic with an ArchivePolicy. Remove the ArchivePolicy first."
        )
    for subscription in all_subscriptions(tx, scope, name):
        tx.resources.delete(Subscription, scope, subscription.name)
    tx.resources.delete(SubscriptionsVersion, scope, name)
    tx.resources.delete(TopicSequence, scope, name)
    tx.resources.delete(Topic, scope, name)
    return {}


@operation("ListTopics")
def list_topics(tx: Transaction, caller: Caller, *, next_token: str | None = None) -> Document:
    """List the ARNs of the caller's topics, 100 to a page.

    Errors: InvalidParameterException (the token).
    Source: https://docs.aws.amazon.com/sns/latest/api/API_ListTopics.html
    """
    authorize(tx, caller, "sns:ListTopics", topic_arn(caller.scope, "*"))
    found = tx.resources.list(Topic, caller.scope, after=decode_token(next_token), limit=limits.PAGE_MAX + 1)
    page = found[: limits.PAGE_MAX]
    answer: Document = {"Topics": [{"TopicArn": topic.arn} for topic in page]}
    if len(found) > len(page):
        answer["NextToken"] = encode_token(page[-1].name)
    return answer


@operation("GetTopicAttributes")
def get_topic_attributes(tx: Transaction, caller: Caller, *, topic_arn: str) -> Document:
    """Show a topic's attributes.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_GetTopicAttributes.html
    """
    topic = existing_topic(tx, caller, topic_arn, "sns:GetTopicAttributes")
    subscriptions = all_subscriptions(tx, topic.scope, topic.name)
    pending = sum(one.is_pending for one in subscriptions)
    attributes = topic.attributes
    shown: Document = {
        "TopicArn": topic.arn,
        "Owner": topic.scope.account,
        "DisplayName": attributes.get("DisplayName", ""),
        "Policy": topic.shown_policy,
        "EffectiveDeliveryPolicy": effective_topic_policy(attributes.get("DeliveryPolicy", "")),
        "SubscriptionsConfirmed": str(len(subscriptions) - pending),
        "SubscriptionsPending": str(pending),
        "SubscriptionsDeleted": str(topic.deleted_subscriptions),
    }
    shown |= {name: attributes[name] for name in _SHOWN_IF_SET if name in attributes}
    shown |= {name: value for name, value in attributes.items() if "Feedback" in name}
    if topic.is_fifo:
        shown["FifoTopic"] = "true"
        shown["ContentBasedDeduplication"] = str(topic.is_deduplicated_by_content).lower()
    if topic.archived_from is not None:
        shown["BeginningArchiveTime"] = format_instant(topic.archived_from)
    return {"Attributes": shown}


@operation("SetTopicAttributes")
def set_topic_attributes(
    tx: Transaction, caller: Caller, *, topic_arn: str, attribute_name: str, attribute_value: str | None = None
) -> Document:
    """Change one attribute of a topic.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_SetTopicAttributes.html
    """
    topic = existing_topic(tx, caller, topic_arn, "sns:SetTopicAttributes")
    if attribute_name == "FifoTopic":
        raise invalid("AttributeName")
    texts, policy = with_attributes(topic, {attribute_name: attribute_value or ""}, "")
    if attribute_name == POLICY and not attribute_value:
        policy = ""
    changed = replace(topic, attributes=texts, policy=policy)
    tx.resources.put(topic.scope, _archiving(tx, topic, changed))
    return {}


@operation("PutDataProtectionPolicy")
def put_data_protection_policy(
    tx: Transaction, caller: Caller, *, resource_arn: str, data_protection_policy: str
) -> Document:
    """Store the data protection policy of a topic. redrive does not apply it.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_PutDataProtectionPolicy.html
    """
    topic = existing_topic(tx, caller, resource_arn, "sns:PutDataProtectionPolicy", parameter="ResourceArn")
    tx.resources.put(topic.scope, replace(topic, data_protection=data_protection_policy))
    return {}


@operation("GetDataProtectionPolicy")
def get_data_protection_policy(tx: Transaction, caller: Caller, *, resource_arn: str) -> Document:
    """Show the data protection policy of a topic.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_GetDataProtectionPolicy.html
    """
    topic = existing_topic(tx, caller, resource_arn, "sns:GetDataProtectionPolicy", parameter="ResourceArn")
    return {"DataProtectionPolicy": topic.data_protection} if topic.data_protection else {}


def _check_quota(tx: Transaction, scope: Scope, *, is_fifo: bool) -> None:
    """Errors: TopicLimitExceededException. FIFO topics have a quota of their own."""
    if tx.services.limits is not Limits.STRICT:
        return
    count = tx.resources.count(Topic, scope)
    if is_fifo and count >= limits.FIFO_TOPICS_MAX:
        count = sum(topic.is_fifo for topic in tx.resources.list(Topic, scope, limit=count))
    if count >= (limits.FIFO_TOPICS_MAX if is_fifo else limits.STANDARD_TOPICS_MAX):
        raise ServiceError("TopicLimitExceededException", "Topic limit exceeded")


def _check_same(topic: Topic, given: Mapping[str, str], tags: Mapping[str, str]) -> None:
    """Refuse a second CreateTopic that asks for something else. Errors: InvalidParameterException."""
    texts, policy = with_attributes(replace(topic, attributes={}, policy=""), given, "Attributes Reason: ")
    differs = any(topic.attributes.get(name) != value for name, value in texts.items())
    if differs or (policy and policy != topic.policy):
        raise invalid("Attributes Reason: Topic already exists with different attributes")
    if any(topic.tags.get(key) != value for key, value in tags.items()):
        raise invalid("Tags Reason: Topic already exists with different tags")


def _archiving(tx: Transaction, before: Topic, after: Topic) -> Topic:
    """The changed topic, whose archive begins now or ends now."""
    was, will_be = bool(retention_days(before)), bool(retention_days(after))
    if was == will_be:
        return after
    if will_be:
        return replace(after, archived_from=tx.now)
    forget_rows(tx, "archived_events", archive_id(before))
    return replace(after, archived_from=None)
