"""What endpoints get: the envelope around a message, and the other messages of SNS.

Source: https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from redrive.core.documents import Document, dump_json
from redrive.services.sns.model.topic import scope_of

_URL = "UnsubscribeURL"
_SIGNED = ("Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")


def text_for(message: Mapping[str, object], protocol: str) -> str:
    """The text of a message for a protocol, which MessageStructure json may choose."""
    texts = message.get("texts")
    if isinstance(texts, dict):
        return str(texts.get(protocol, texts["default"]))
    return str(message["text"])


def unsubscribe_url(host: str, subscription_arn: str) -> str:
    """The URL that ends a subscription. Nothing in an ARN of SNS needs an escape."""
    return f"http://{host}/?Action=Unsubscribe&SubscriptionArn={subscription_arn}"


def subscribe_url(host: str, topic_arn: str, token: str) -> str:
    """The URL that confirms a subscription."""
    asked = {"Action": "ConfirmSubscription", "TopicArn": topic_arn, "Token": token}
    return f"http://{host}/?{urlencode(asked, safe=':')}"


def notification(message: Mapping[str, object], protocol: str, host: str, subscription_arn: str) -> Document:
    """The envelope of a message, in the order of AWS's members. A FIFO topic signs nothing."""
    shown: Document = {"Type": "Notification", "MessageId": message["id"]}
    if "sequence" in message:
        shown["SequenceNumber"] = message["sequence"]
    shown["TopicArn"] = message["topic"]
    if "subject" in message:
        shown["Subject"] = message["subject"]
    shown |= {"Message": text_for(message, protocol), "Timestamp": message["at"]}
    signature = message.get("signature")
    if isinstance(signature, dict):
        by_protocol = signature["texts"]
        shown |= {
            "SignatureVersion": signature["version"],
            "Signature": by_protocol.get(protocol, by_protocol["default"]),
            "SigningCertURL": signature["url"],
        }
    shown[_URL] = unsubscribe_url(host, subscription_arn)
    return shown | _after_the_url(message)


def _after_the_url(message: Mapping[str, object]) -> Document:
    shown: Document = {}
    if "attributes" in message:
        shown["MessageAttributes"] = message["attributes"]
    if "replayed" in message:
        shown["Replayed"] = "true"
    return shown


class Frame(NamedTuple):
    """The text of a message's envelope for a protocol, around the only member that differs between subscriptions."""

    head: str
    tail: str

    @classmethod
    def of(cls, message: Mapping[str, object], protocol: str) -> Frame:
        """The frame of a message."""
        shown = notification(message, protocol, "", "")
        after = _after_the_url(message)
        head = dump_json({name: value for name, value in shown.items() if name not in after} | {_URL: ""})
        return cls(head.removesuffix('""}'), f",{dump_json(after)[1:]}" if after else "}")

    def text(self, host: str, subscription_arn: str) -> str:
        """The envelope for a subscription, as `dump_json(notification(…))` has it."""
        return f"{self.head}{dump_json(unsubscribe_url(host, subscription_arn))}{self.tail}"


def lambda_record(message: Mapping[str, object], host: str, subscription_arn: str) -> str:
    """The event of a function. Names of URLs are in another spelling than in envelopes."""
    shown = notification(message, "lambda", host, subscription_arn)
    sns = {
        "Type": "Notification", "MessageId": shown["MessageId"], "TopicArn": shown["TopicArn"],
        "Subject": shown.get("Subject"), "Message": shown["Message"], "Timestamp": shown["Timestamp"],
        "SignatureVersion": "1", "Signature": shown.get("Signature", ""),
        "SigningCertUrl": shown.get("SigningCertURL", ""), "UnsubscribeUrl": shown["UnsubscribeURL"],
        "MessageAttributes": shown.get("MessageAttributes", {}),
    }  # fmt: skip
    record = {"EventSource": "aws:sns", "EventVersion": "1.0", "EventSubscriptionArn": subscription_arn, "Sns": sns}
    return dump_json({"Records": [record]})


def confirmation(
    kind: str, *, message_id: str, topic_arn: str, subscription_arn: str, token: str, host: str, at: str
) -> Document:
    """The body of a SubscriptionConfirmation or an UnsubscribeConfirmation, without its signature."""
    if kind == "SubscriptionConfirmation":
        text = (
            f"You have chosen to subscribe to the topic {topic_arn}.\n"
            "To confirm the subscription, visit the SubscribeURL included in this message."
        )
    else:
        text = (
            f"You have chosen to deactivate subscription {subscription_arn}.\n"
            "To cancel this operation and restore the subscription, visit the SubscribeURL included in this message."
        )
    return {
        "Type": kind, "MessageId": message_id, "Token": token, "TopicArn": topic_arn, "Message": text,
        "SubscribeURL": subscribe_url(host, topic_arn, token), "Timestamp": at,
    }  # fmt: skip


def string_to_sign(envelope: Mapping[str, object]) -> bytes:
    """What the signature of an envelope covers: names and values, a line each.

    Source: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html
    """
    names = [name for name in _SIGNED if envelope.get(name) is not None]
    if envelope["Type"] == "Notification":
        names = [name for name in names if name not in ("SubscribeURL", "Token")]
    return "".join(f"{name}\n{envelope[name]}\n" for name in names).encode()


def certificate_path(fingerprint: str) -> str:
    """The path below which the server serves the certificate."""
    return f"/SimpleNotificationService-{fingerprint}.pem"


def region_of(topic_arn: str) -> str:
    """The region of a topic."""
    return scope_of(topic_arn).region
