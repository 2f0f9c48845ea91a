"""What is sent for a letter, and what becomes of it: accepted, refused, or nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)

from redrive.deadletters.letter import Letter
from redrive.handler.failures import Kind, classify, http_status


@dataclass(frozen=True, slots=True)
class Parcel:
    """A letter, and the text that is sent for it: its work, perhaps edited."""

    letter: Letter
    text: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The destination has it, under this id."""

    id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The destination does not have it."""

    code: str
    message: str
    kind: Kind
    """Permanent: the same request is refused again."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """There was no answer, or one that does not tell: the destination may have it."""

    message: str


SendOutcome = Accepted | Refused | Unknown


def refused(code: str, message: str, *, is_ours: bool) -> Refused:
    """A refusal by its code. If the fault is not ours, the same request may be accepted later."""
    kind = classify(ClientError({"Error": {"Code": code}}, ""))
    return Refused(code, message, Kind.TRANSIENT if kind is Kind.PERMANENT and not is_ours else kind)


def outcome_of(error: ClientError | BotoCoreError) -> Refused | Unknown:
    """What an error says of the letters of a request. A fault of the server may come after the work was done."""
    if isinstance(error, ClientError):
        code = str(error.response["Error"].get("Code", ""))
        kind, status = classify(error), http_status(error)
        if kind is Kind.THROTTLED or (status is not None and status < 500):
            return Refused(code, str(error.response["Error"].get("Message", "")), kind)
        return Unknown(str(error))
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError):
        return Refused(type(error).__name__, str(error), Kind.TRANSIENT)
    # A timeout, a connection that ended, an answer that cannot be read: the request has gone out.
    if isinstance(error, HTTPClientError) or "Parse" in type(error).__name__:
        return Unknown(str(error))
    return Refused(type(error).__name__, str(error), Kind.PERMANENT)
