"""Dead letters: made so that a queue takes them, and written under a role.

A source says what its letter says, by the names in `languages.letters`; how a letter is cut, and how it reaches its
queue, is the same for all sources.
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

CallerIn = Callable[[str], Caller]
"""The caller that writes a letter to a queue in a region. Errors: ServiceError (the role cannot be assumed)."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter: its body, and its message attributes as `attribute` makes them."""

    names: LetterNames
    body: str
    attributes: Document


@dataclass(frozen=True, slots=True)
class Written:
    """The letter is in its queue under this message id; `is_cut` says that the end of its body is not."""

    queue_arn: str
    message_id: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The letter is lost: its queue, or the role, refused."""

    queue_arn: str
    error: ServiceError


def attribute(value: str, *, type: str = "String") -> Document:
    """A message attribute with a text that a message may contain."""
    return {"DataType": type, "StringValue": writable(value)}


def write_letter(tx: Transaction, letter: Letter, queue_arn: str, caller_in: CallerIn) -> Written | Unwritten:
    """Write a letter to a queue. One that the queue does not take is lost, as on AWS: the answer says why.

    A letter whose source has a name for it is cut to what the queue takes.
    """
    arn = Arn.parse(queue_arn)
    try:
        caller = caller_in(arn.region)
        sent = fit_letter(letter, _message_bytes_max(tx, arn)) if letter.names.truncated else letter
        params = {"QueueUrl": queue_url(queue_arn), "MessageBody": sent.body, "MessageAttributes": sent.attributes}
        answer = tx.services.call(tx, caller, "sqs", "SendMessage", params)
    except ServiceError as error:
        return Unwritten(queue_arn, error)
    return Written(queue_arn, str(answer["MessageId"]), is_cut=sent.body != letter.body)


def fit_letter(letter: Letter, bytes_max: int) -> Letter:
    """A dead letter that its queue takes: one that is too long loses the end of its body, and says so.

    Some of the body always remains: where the error's message takes more than half of the room that the other
    attributes leave, and the body needs it, the message is cut first.
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
    """How often a target was called again; the attempt that found the delivery too old called nobody."""
    calls = delivery.attempts - (failed.code == Exhausted.AGE.value)
    return max(0, calls - 1)


def writable(text: str) -> str:
    r"""A text with the characters that no message may contain written as `\uffff`; in JSON that is what they are."""
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def letter_bytes(body: str, attributes: Document) -> int:
    """The size of a message as SQS counts it: body, and names, types and values of the attributes."""
    texts = [body]
    for name, value in attributes.items():
        texts += [name, value["DataType"], value["StringValue"]]
    return sum(len(text.encode()) for text in texts)


def cut(text: str, bytes_max: int) -> str:
    """The beginning of a text that fits into so many bytes, without half a character at its end."""
    return text.encode()[: max(0, bytes_max)].decode(errors="ignore")


def _message_bytes_max(tx: Transaction, queue: Arn) -> int:
    """What the queue takes. Its owner asks, so that the role of the letter needs no permission for it."""
    owner = Caller(Scope(queue.account, queue.region), new_uuid(tx.entropy))
    asked = {"QueueUrl": queue_url(str(queue)), "AttributeNames": ["MaximumMessageSize"]}
    answer = tx.services.call(tx, owner, "sqs", "GetQueueAttributes", asked)
    return int(answer["Attributes"]["MaximumMessageSize"])
