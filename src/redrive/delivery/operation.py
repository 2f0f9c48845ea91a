"""What an operation of a service is.

    @operation("SendMessage")
    def send_message(tx, caller, *, queue_url, message_body, …) -> Document

An operation is a function of a transaction. It has one keyword parameter, in snake_case, for each member of AWS's input
shape. Required members have no default. The answer has AWS's own keys. The registry compares each signature with
botocore's model, so no parameter can be forgotten or invented.

Most answers are Documents. Some calls cannot be answered inside one transaction. For them there are `Wait` (try again
when something happens), `Outside` (run this between two transactions), `Beforehand` (compute this, then call again),
`Digesting` (digest these bodies, then call again) and `ByNode` (let the server run this). Answers
that are streams of events are `EventStream` (further steps give further events) and `StreamedOutside` (run this, and
pass on what the run gives).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.delivery.bodies import Segment
from redrive.delivery.node import Node
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Wait:
    """No answer yet: call the operation again when a topic is notified, or answer `result` at `until`.

    A repeated call has the same parameters and would give a later `until`, so the driver keeps the first. `again_at` is
    an instant before `until` for a repeated call even without a notification. `is_under_way`: the awaited work needs no
    time to pass, so the driver waits in virtual time, too. `is_of_caller`: the call itself has begun the work, and a
    caller in this process lets all due work be done before the answer.
    """

    result: Document
    topics: tuple[str, ...]
    until: Instant
    again_at: Instant | None = None
    is_under_way: bool = False
    is_of_caller: bool = False


Resume = Callable[[Transaction, InvocationResult], "Document | ServiceError"]
"""Builds the answer from the invocation's result. An error is returned, not raised: what the run wrote is committed."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Run the invocation between two transactions, then call `resume` for the answer in the second transaction."""

    invocation: Invocation
    resume: Resume


@dataclass(frozen=True, slots=True)
class Continuation:
    """How a stream of events goes on: by `resume`, when a topic is notified, and at `again_at` at the latest.

    `leave` is a step for the end of a caller who has gone before the stream's end.
    """

    resume: Callable[[Transaction], EventStream | ServiceError]
    topics: tuple[str, ...]
    again_at: Instant
    leave: Callable[[Transaction], None]


@dataclass(frozen=True, slots=True)
class EventStream:
    """An answer that is a stream of events: those of now, and how it goes on; without `more` it ends after them.

    `name` is the member of AWS's answer that is the stream, `members` are the others. An event is `{kind: members}`. A
    ServiceError that `resume` answers ends the stream.
    """

    name: str
    members: Document
    events: tuple[Document, ...]
    more: Continuation | None = None

    @property
    def document(self) -> Document:
        """The whole answer as it is now, for callers who do not wait."""
        return {**self.members, self.name: list(self.events)}


@dataclass(frozen=True, slots=True)
class StreamedOutside:
    """Run the invocation between two transactions, and send on each piece that the function gives while it runs.

    `members` are those of the answer beside its stream, `event_of` makes an event of a piece. `resume` gives the events
    after the run; if nothing was sent before, it may refuse the call.
    """

    invocation: Invocation
    members: Document
    event_of: Callable[[bytes], Document]
    resume: Callable[[Transaction, InvocationResult], EventStream | ServiceError]


IsWanted = Callable[[], bool]
"""Whether somebody still waits for the answer."""


@dataclass(frozen=True, slots=True)
class ByNode:
    """Let the node do this after the transaction, because it concerns the clock or the whole store.

    Long work ends early when nobody waits for the answer any more. Errors of `perform`: UserError, ServiceError.
    """

    perform: Callable[[Node, IsWanted], Document]


@dataclass(frozen=True, slots=True)
class Beforehand:
    """Do this without a transaction, then call the operation again, which writes nothing before.

    For computations that take long and need nothing of the store, such as the search for the primes of a key. Called by
    another service, the operation has only one transaction: then the work is done inside it.
    """

    work: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Digesting:
    """Digest a large body without a transaction, then call the operation again, which writes nothing before.

    The second call finds the digests in `tx.digests`, by these segments. Called by another service, the operation has
    only one transaction: then the body is read inside of it.
    """

    segments: tuple[Segment, ...]
    algorithms: tuple[str, ...]


class OutsideNeeded(Exception):
    """An operation was called inside a transaction and cannot be answered there."""

    def __init__(self, outside: Outside) -> None:
        super().__init__("the operation has to be performed between two transactions")
        self.outside = outside


Answer = Document | Wait | Outside | ByNode | Beforehand | Digesting | EventStream | StreamedOutside | ServiceError
"""A returned ServiceError refuses the call as a raised one does, but what the operation has written is committed."""

F = TypeVar("F", bound=Callable[..., Answer])

OPERATION_ATTRIBUTE = "__aws_operation__"


def operation(name: str) -> Callable[[F], F]:
    """Mark a function as the implementation of an AWS operation."""

    def mark(function: F) -> F:
        setattr(function, OPERATION_ATTRIBUTE, name)
        return function

    return mark
