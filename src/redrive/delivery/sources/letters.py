"""Dead letters: built so that a queue accepts them, and sent under a role.

A source provides the content, under the names in `languages.letters`. How a letter is shortened and sent is the same
for all sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from redrive.core.arn import Arn
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.retry import Exhausted, Failed
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.targets import queue_url
from redrive.languages.letters import LetterNames
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Source: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
_TOPIC_BYTES_MAX = 262_144

CallerIn = Callable[[str], Caller]
"""Returns the caller that sends a letter to a queue in a region. Errors: ServiceError (the role cannot be assumed)."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter: its body, and message attributes built by `attribute`."""

    names: LetterNames
    body: str
    attributes: Document


@dataclass(frozen=True, slots=True)
class Written:
    """The letter is in its queue under this message id. `is_cut`: the end of the body was cut off."""

    queue_arn: str
    message_id: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The letter is lost, because the queue or the role refused."""

    queue_arn: str
    error: ServiceError


def attribute(value: str, *, type: str = "String") -> Document:
    """A message attribute. Characters that a message may not contain are escaped."""
    return {"DataType": type, "StringValue": writable(value)}


def write_letter(tx: Transaction, letter: Letter, queue_arn: str, caller_in: CallerIn) -> Written | Unwritten:
    """Send a letter to a queue, or to a topic. As on AWS, a letter that the queue refuses is lost; the result says why.

    The letter is shortened to the queue's limit if its source has an attribute name for "truncated".
    """
    arn = Arn.parse(queue_arn)
    try:
        caller = caller_in(arn.region)
        sent = fit_letter(letter, _bytes_max(tx, arn)) if letter.names.truncated else letter
        if arn.service == "sns":
            published = {"TopicArn": queue_arn, "Message": sent.body, "MessageAttributes": sent.attributes}
            answer = tx.services.call(tx, caller, "sns", "Publish", published)
            return Written(queue_arn, str(answer["MessageId"]), is_cut=sent.body != letter.body)
        params = {"QueueUrl": queue_url(queue_arn), "MessageBody": sent.body, "MessageAttributes": sent.attributes}
        answer = tx.services.call(tx, caller, "sqs", "SendMessage", params)
    except ServiceError as error:
        return Unwritten(queue_arn, error)
    return Written(queue_arn, str(answer["MessageId"]), is_cut=sent.body != letter.body)


def fit_letter(letter: Letter, bytes_max: int) -> Letter:
    """Shorten a dead letter to `bytes_max`: a body that is too long loses its end, and an attribute says so.

    The body never becomes empty: if the error message takes more than half of the room that the other attributes leave,
    and the body needs this room, the message is cut first.
    """
    body, attributes, names = letter.body, letter.attributes, letter.names
    if letter_bytes(body, attributes) <= bytes_max:
        return letter
    message = attributes[names.message]["StringValue"]
    room = bytes_max - letter_bytes("", attributes) + len(message.encode())
    kept_message = cut(message, max(room // 2, room - len(body.encode())))
    kept_body = cut(body, room - len(kept_message.encode()))
    kept_attributes = {
        **attributes,
        names.message: attribute(kept_message),
        names.truncated: attribute("false" if kept_body == body else "true"),
    }
    return replace(letter, body=kept_body, attributes=kept_attributes)


def retries_made(delivery: Delivery, failed: Failed) -> int:
    """How often a target was called again. The attempt that found the delivery too old made no call."""
    calls = delivery.attempts - (failed.code == Exhausted.AGE.value)
    return max(0, calls - 1)


def writable(text: str) -> str:
    r"""Escape the characters that no message may contain as `\uffff`. Inside JSON strings this keeps their meaning."""
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def letter_bytes(body: str, attributes: Document) -> int:
    """The size of a message as SQS counts it: the body, and names, types and values of the attributes."""
    texts = [body]
    for name, value in attributes.items():
        texts += [name, value["DataType"], value["StringValue"]]
    return sum(len(text.encode()) for text in texts)


def cut(text: str, bytes_max: int) -> str:
    """The longest beginning of a text that fits into `bytes_max` bytes of UTF-8, without a partial character."""
    return text.encode()[: max(0, bytes_max)].decode(errors="ignore")


def _bytes_max(tx: Transaction, target: Arn) -> int:
    return _TOPIC_BYTES_MAX if target.service == "sns" else _message_bytes_max(tx, target)


def _message_bytes_max(tx: Transaction, queue: Arn) -> int:
    """The queue's maximum message size, asked as the queue's owner, so that the letter's role needs no permission."""
    owner = Caller(Scope(queue.account, queue.region), new_uuid(tx.entropy))
    asked = {"QueueUrl": queue_url(str(queue)), "AttributeNames": ["MaximumMessageSize"]}
    answer = tx.services.call(tx, owner, "sqs", "GetQueueAttributes", asked)
    return int(answer["Attributes"]["MaximumMessageSize"])
