"""Shard iterators: opaque texts that say where in a shard a reader goes on. Only the stream itself can make one."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.requests import invalid_argument, java_date

_FIELDS = 8
_MAC_BYTES = 16


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a shard: after the record numbered `after`. `made_at` is when the iterator was given."""

    scope: Scope
    stream: str
    stream_id: str
    shard: int
    after: int
    made_at: Instant
    nonce: str
    mac: str = ""


def encode_iterator(position: Position, secret: str) -> str:
    """Return the text of an iterator, signed with the stream's secret. Equal positions differ in their nonces."""
    text = _text_of(position)
    return base64.b64encode(f"{text}|{_mac(text, secret)}".encode()).decode()


def decode_iterator(text: str) -> Position:
    """Return the position that a text claims; `check_iterator` proves the claim. Errors: InvalidArgumentException.

    A text in extra double quotes is accepted, as on AWS.
    """
    try:
        account, region, stream, stream_id, shard, after, made_at, nonce_mac = (
            base64.b64decode(text.strip('"'), validate=True).decode("ascii").split("|", _FIELDS - 1)
        )
        nonce, mac = nonce_mac.split("|")
        numbers = int(shard), int(after), int(made_at)
    except ValueError:
        raise invalid_iterator() from None
    return Position(Scope(account, region), stream, stream_id, *numbers, nonce, mac)


def check_iterator(position: Position, secret: str, now: Instant) -> None:
    """Refuse an iterator that this stream has not made, or that is older than five minutes.

    Errors: InvalidArgumentException; ExpiredIteratorException.
    """
    if not hmac.compare_digest(_mac(_text_of(position), secret), position.mac):
        raise invalid_iterator()
    if now - position.made_at > limits.ITERATOR_MS:
        raise ServiceError(
            "ExpiredIteratorException",
            f"Iterator expired. The iterator was created at time {java_date(position.made_at)} while right now it is "
            f"{java_date(now)} which is further in the future than the tolerated delay of {limits.ITERATOR_MS} "
            "milliseconds.",
        )


def invalid_iterator() -> ServiceError:
    """Build the error for a text that is no iterator."""
    return invalid_argument("Invalid ShardIterator.")


def _text_of(position: Position) -> str:
    scope = position.scope
    return (
        f"{scope.account}|{scope.region}|{position.stream}|{position.stream_id}|{position.shard}|{position.after}|"
        f"{position.made_at}|{position.nonce}"
    )


def _mac(text: str, secret: str) -> str:
    return hashlib.blake2b(text.encode(), key=secret.encode(), digest_size=_MAC_BYTES).hexdigest()
