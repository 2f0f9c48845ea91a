"""What a delivery of SNS keeps: the message, and the subscription as it was when the message was published."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json
from redrive.core.retry import RetryPolicy
from redrive.delivery.sources.targets import queue_url
from redrive.services.sns.limits import RAW_ATTRIBUTES_MAX
from redrive.services.sns.model.delivery_policy import CUSTOMER_POLICY, INSIDE_POLICY, http_policy
from redrive.services.sns.model.envelope import Frame, lambda_record, notification, text_for
from redrive.services.sns.model.subscription import HTTP_PROTOCOLS, MAIL_PROTOCOLS, Subscription
from redrive.services.sns.model.topic import FIFO_SUFFIX
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery

SOURCE = "sns"
"""The `Delivery.source` of what topics deliver."""


@dataclass(frozen=True, slots=True)
class Content:
    """A delivery's document, as typed values. `message` is shared by all deliveries of a message."""

    message: Document
    arn: str
    protocol: str
    endpoint: str
    host: str
    is_raw: bool
    dead_letter_arn: str
    content_type: str

    @property
    def envelope(self) -> str:
        """The message in its envelope."""
        return dump_json(notification(self.message, self.protocol, self.host, self.arn))

    @property
    def body(self) -> str:
        """What queues and HTTP endpoints get."""
        return text_for(self.message, self.protocol) if self.is_raw else self.envelope

    @property
    def event(self) -> str:
        """What functions get."""
        return lambda_record(self.message, self.host, self.arn)


def content_of(delivery: Delivery) -> Content:
    """What a delivery of a message keeps."""
    document = delivery.document
    return Content(
        document["message"], delivery.source_arn, str(document["protocol"]), delivery.target_arn,
        str(document["host"]), bool(document.get("raw")), str(document.get("dlq", "")),
        str(document.get("type", "")),
    )  # fmt: skip


def delivery_document(message: Document, subscription: Subscription, content_type: str) -> Document:
    """The document of a message's delivery to a subscription."""
    document: Document = {"message": message, "protocol": subscription.protocol, "host": subscription.host}
    if subscription.is_raw:
        document["raw"] = 1
    if subscription.dead_letter_arn:
        document["dlq"] = subscription.dead_letter_arn
    if content_type:
        document["type"] = content_type
    return document


def retry_policy(subscription: Subscription, topic_policy: str) -> RetryPolicy:
    """How often and how long the deliveries of a subscription are tried."""
    if subscription.protocol in HTTP_PROTOCOLS:
        return http_policy(topic_policy, subscription.attributes.get("DeliveryPolicy", ""))
    return CUSTOMER_POLICY if subscription.protocol in MAIL_PROTOCOLS | {"sms"} else INSIDE_POLICY


def place_of(protocol: str) -> str:
    """Whether deliveries of a protocol begin inside the store or outside."""
    return OUTSIDE if protocol in HTTP_PROTOCOLS else INSIDE


def queue_params(content: Content, queue_arn: str, frame: Frame | None = None) -> Document | None:
    """The parameters of SendMessage; None for a raw message with more attributes than a queue takes.

    `frame`: that of the message for queues, if it is known.
    """
    body = content.body if frame is None or content.is_raw else frame.text(content.host, content.arn)
    params: Document = {"QueueUrl": queue_url(queue_arn), "MessageBody": body}
    message = content.message
    if content.is_raw and "attributes" in message:
        if len(message["attributes"]) > RAW_ATTRIBUTES_MAX:
            return None
        params["MessageAttributes"] = {name: sqs_attribute(one) for name, one in message["attributes"].items()}
    is_fifo = queue_arn.endswith(FIFO_SUFFIX)
    if is_fifo:
        params |= {"MessageGroupId": message["group"], "MessageDeduplicationId": message["dedup"]}
    elif "group" in message and "sequence" not in message:
        params["MessageGroupId"] = message["group"]
    return params


def sqs_attribute(one: Document) -> Document:
    """A message attribute as SendMessage takes it."""
    if str(one["Type"]).startswith("Binary"):
        return {"DataType": one["Type"], "BinaryValue": base64.b64decode(one["Value"])}
    return {"DataType": one["Type"], "StringValue": one["Value"]}
