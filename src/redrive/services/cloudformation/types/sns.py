"""AWS::SNS::Topic, Subscription, TopicPolicy and TopicInlinePolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_SNS.html
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
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    as_text,
    group,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
_NAME_LENGTH_MAX = 256
_FIFO_SUFFIX = ".fifo"
_POLICY_ID_LENGTH_MAX = 255
_MISSING = frozenset({"NotFoundException", "NotFound"})

# The properties that are attributes of a topic, with their values after the template removes them.
_ATTRIBUTES = {
    "ArchivePolicy": "",
    "ContentBasedDeduplication": "false",
    "DisplayName": "",
    "FifoThroughputScope": "Topic",
    "FifoTopic": "false",
    "KmsMasterKeyId": "",
    "MaximumMessageSize": "",
    "SignatureVersion": "1",
    "TracingConfig": "PassThrough",
}
_SUBSCRIPTION_ATTRIBUTES = (
    "DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy", "ReplayPolicy",
    "SubscriptionRoleArn",
)  # fmt: skip


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return as_text(value)
        case _:
            return str(value)


def _create_topic(place: Place, properties: Document) -> Existing:
    suffix = _FIFO_SUFFIX if properties.get("FifoTopic") else ""
    given: str | None = properties.get("TopicName")
    name = given or place.name(None, _NAME_LENGTH_MAX - len(suffix)) + suffix
    arn = f"arn:aws:sns:{place.caller.region}:{place.caller.account}:{name}"
    if exists(place, _MISSING, "sns", "GetTopicAttributes", TopicArn=arn):
        raise already_exists("AWS::SNS::Topic", name)
    attributes = {key: _text(properties[key]) for key in _ATTRIBUTES if key in properties}
    if attributes.get("FifoTopic") == "false":
        del attributes["FifoTopic"]
    place.call("sns", "CreateTopic", Name=name, Attributes=attributes, Tags=properties.get("Tags"))
    if "DataProtectionPolicy" in properties:
        policy = as_text(properties["DataProtectionPolicy"])
        place.call("sns", "PutDataProtectionPolicy", ResourceArn=arn, DataProtectionPolicy=policy)
    _subscribe_all(place, arn, properties)
    return Existing(arn, properties, {"TopicArn": arn, "TopicName": name})


def _update_topic(place: Place, existing: Existing, properties: Document) -> Existing:
    arn = existing.physical_id
    for name in sorted(changed_keys(existing.properties, properties) & _ATTRIBUTES.keys()):
        value = _text(properties.get(name, _ATTRIBUTES[name]))
        place.call("sns", "SetTopicAttributes", TopicArn=arn, AttributeName=name, AttributeValue=value)
    if existing.properties.get("Subscription") != properties.get("Subscription"):
        _unsubscribe_all(place, arn, existing.properties)
        _subscribe_all(place, arn, properties)
    tagged, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("sns", "UntagResource", ResourceArn=arn, TagKeys=removed)
    if tagged:
        tags = [{"Key": key, "Value": value} for key, value in tagged.items()]
        place.call("sns", "TagResource", ResourceArn=arn, Tags=tags)
    return Existing(arn, properties, existing.attributes)


def _delete_topic(place: Place, existing: Existing) -> None:
    if existing.properties.get("ArchivePolicy"):
        place.call(
            "sns", "SetTopicAttributes", TopicArn=existing.physical_id, AttributeName="ArchivePolicy", AttributeValue=""
        )
    place.call("sns", "DeleteTopic", TopicArn=existing.physical_id)


def _subscribe_all(place: Place, arn: str, properties: Document) -> None:
    """Subscribe the endpoints that the topic's own property lists."""
    for one in properties.get("Subscription", ()):
        place.call("sns", "Subscribe", TopicArn=arn, Protocol=one["Protocol"], Endpoint=one["Endpoint"])


def _unsubscribe_all(place: Place, arn: str, properties: Document) -> None:
    listed = {(one["Protocol"], one["Endpoint"]) for one in properties.get("Subscription", ())}
    token: str | None = None
    while True:
        page = place.call("sns", "ListSubscriptionsByTopic", TopicArn=arn, NextToken=token)
        for one in page["Subscriptions"]:
            if (one["Protocol"], one["Endpoint"]) in listed and one["SubscriptionArn"].startswith("arn:"):
                place.call("sns", "Unsubscribe", SubscriptionArn=one["SubscriptionArn"])
        token = page.get("NextToken")
        if token is None:
            return


def _create_subscription(place: Place, properties: Document) -> Existing:
    attributes = {name: _text(properties[name]) for name in _SUBSCRIPTION_ATTRIBUTES if name in properties}
    created = place.call(
        "sns", "Subscribe", TopicArn=properties["TopicArn"], Protocol=properties["Protocol"],
        Endpoint=properties.get("Endpoint"), Attributes=attributes, ReturnSubscriptionArn=True,
    )  # fmt: skip
    arn = created["SubscriptionArn"]
    return Existing(arn, properties, {"Arn": arn})


def _update_subscription(place: Place, existing: Existing, properties: Document) -> Existing:
    changed = changed_keys(existing.properties, properties)
    # The scope comes after a policy that is removed, and before one that it is for.
    names = [name for name in ("FilterPolicyScope", *_SUBSCRIPTION_ATTRIBUTES) if name in changed]
    for name in dict.fromkeys(names):
        value = _text(properties.get(name, ""))
        place.call(
            "sns", "SetSubscriptionAttributes", SubscriptionArn=existing.physical_id, AttributeName=name,
            AttributeValue=value,
        )  # fmt: skip
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_subscription(place: Place, existing: Existing) -> None:
    place.call("sns", "Unsubscribe", SubscriptionArn=existing.physical_id)


def _create_policy(place: Place, properties: Document) -> Existing:
    name = place.name(None, _POLICY_ID_LENGTH_MAX)
    _set_policy(place, properties["Topics"], as_text(properties["PolicyDocument"]))
    return Existing(name, properties, {"Id": name})


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    gone = [arn for arn in existing.properties["Topics"] if arn not in properties["Topics"]]
    _set_policy(place, gone, "")
    _set_policy(place, properties["Topics"], as_text(properties["PolicyDocument"]))
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_policy(place: Place, existing: Existing) -> None:
    _set_policy(place, existing.properties["Topics"], "")


def _create_inline_policy(place: Place, properties: Document) -> Existing:
    _set_policy(place, [properties["TopicArn"]], as_text(properties["PolicyDocument"]))
    return Existing(properties["TopicArn"], properties, {})


def _update_inline_policy(
    place: Place,
    existing: Existing,  # noqa: ARG001 -- the signature of every update.
    properties: Document,
) -> Existing:
    return _create_inline_policy(place, properties)


def _delete_inline_policy(place: Place, existing: Existing) -> None:
    _set_policy(place, [existing.properties["TopicArn"]], "")


def _set_policy(place: Place, topics: list[str], policy: str) -> None:
    for arn in topics:
        place.call("sns", "SetTopicAttributes", TopicArn=arn, AttributeName="Policy", AttributeValue=policy)


TOPIC = ResourceType(
    name="AWS::SNS::Topic",
    properties={
        "ArchivePolicy": JSON,
        "ContentBasedDeduplication": BOOLEAN,
        "DataProtectionPolicy": JSON,
        "DeliveryStatusLogging": listing(JSON),
        "DisplayName": TEXT,
        "FifoThroughputScope": TEXT,
        "FifoTopic": replacing(BOOLEAN),
        "KmsMasterKeyId": TEXT,
        "MaximumMessageSize": INTEGER,
        "SignatureVersion": TEXT,
        "Subscription": listing(group(Endpoint=required(TEXT), Protocol=required(TEXT))),
        "Tags": TAGS,
        "TopicName": replacing(TEXT),
        "TracingConfig": TEXT,
    },
    create=_create_topic,
    update=_update_topic,
    delete=_delete_topic,
    attributes=frozenset({"TopicArn", "TopicName"}),
    name_property="TopicName",
    has_tags=True,
    missing=_MISSING,
)

SUBSCRIPTION = ResourceType(
    name="AWS::SNS::Subscription",
    properties={
        "DeliveryPolicy": JSON,
        "Endpoint": replacing(TEXT),
        "FilterPolicy": JSON,
        "FilterPolicyScope": TEXT,
        "Protocol": replacing(required(TEXT)),
        "RawMessageDelivery": BOOLEAN,
        "RedrivePolicy": JSON,
        "Region": TEXT,
        "ReplayPolicy": JSON,
        "SubscriptionRoleArn": TEXT,
        "TopicArn": replacing(required(TEXT)),
    },
    create=_create_subscription,
    update=_update_subscription,
    delete=_delete_subscription,
    attributes=frozenset({"Arn"}),
    missing=_MISSING,
)

TOPIC_POLICY = ResourceType(
    name="AWS::SNS::TopicPolicy",
    properties={"PolicyDocument": required(JSON), "Topics": required(listing(TEXT))},
    create=_create_policy,
    update=_update_policy,
    delete=_delete_policy,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
)

TOPIC_INLINE_POLICY = ResourceType(
    name="AWS::SNS::TopicInlinePolicy",
    properties={"PolicyDocument": required(JSON), "TopicArn": replacing(required(TEXT))},
    create=_create_inline_policy,
    update=_update_inline_policy,
    delete=_delete_inline_policy,
    missing=_MISSING,
)
