"""What an operation of a service is.

    @operation("SendMessage")
    def send_message(tx, caller, *, queue_url, message_body, …) -> Document

A function of a transaction: parameters by name in snake_case, one for each member of AWS's input shape, required ones
without a default; the answer with AWS's own keys. The registry holds each signature against botocore's model, so a
parameter can be neither forgotten nor invented.

Most answers are Documents. Three more exist, because some calls cannot be answered inside one transaction: `Wait` (try
again when something happens), `Outside` (do this between two transactions) and `ByNode` (have the server do this).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.delivery.node import Node
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to answer yet: ask again when a topic is notified, or answer `result` once `until` has come.

    Asking again gives the same call, so the driver keeps the first answer's `until`. `again_at` is an instant before it
    at which to ask again even if nothing is notified. `is_under_way`: what is waited for needs no time to pass, so that
    it is waited for in virtual time too.
    """

    result: Document
    topics: tuple[str, ...]
    until: Instant
    again_at: Instant | None = None
    is_under_way: bool = False


Resume = Callable[[Transaction, InvocationResult], "Document | ServiceError"]
"""Makes the answer of what was done outside. An error is answered, not raised: what was written of the run is kept."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Run the invocation between two transactions, then let `resume` make the answer in the second."""

    invocation: Invocation
    resume: Resume


IsWanted = Callable[[], bool]
"""Whether anybody waits for an answer still."""


@dataclass(frozen=True, slots=True)
class ByNode:
    """Have the node do this after the transaction: it is about the clock, or about the store as a whole.

    What takes long ends early where nobody waits for it any more. Errors of `perform`: UserError, ServiceError.
    """

    perform: Callable[[Node, IsWanted], Document]


class OutsideNeeded(Exception):
    """An operation that another one has called inside a transaction cannot be answered there."""

    def __init__(self, outside: Outside) -> None:
        super().__init__("the operation has to be performed between two transactions")
        self.outside = outside


Answer = Document | Wait | Outside | ByNode

F = TypeVar("F", bound=Callable[..., Answer])

OPERATION_ATTRIBUTE = "__aws_operation__"


def operation(name: str) -> Callable[[F], F]:
    """Mark a function as the implementation of an AWS operation."""

    def mark(function: F) -> F:
        setattr(function, OPERATION_ATTRIBUTE, name)
        return function

    return mark
