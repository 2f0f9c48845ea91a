"""Answers in pieces: what becomes of a function's pieces, and how the answer ends."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.delivery.operation import EventStream
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.services.lambda_.model.event_invoke import UNHANDLED
from redrive.services.lambda_.model.report import log_events, log_tail
from redrive.services.lambda_.runs import record_run, run_refused
from redrive.store.api import Transaction

_NAME = "EventStream"


def piece_event(piece: bytes) -> Document:
    """The event of one piece."""
    return {"PayloadChunk": {"Payload": piece}}


def ending(
    tx: Transaction, invocation: Invocation, result: InvocationResult, *, with_tail: bool
) -> EventStream | ServiceError:  # fmt: skip
    """The events after a run. A function that does not stream answers in one piece.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_InvokeWithResponseStreamCompleteEvent.html
    """
    record_run(tx, invocation, result)
    complete: Document = {}
    events: list[Document] = []
    match result.status:
        case InvocationStatus.THROTTLED | InvocationStatus.SERVICE_ERROR:
            return run_refused(result)
        case InvocationStatus.FUNCTION_ERROR:
            complete["ErrorCode"] = result.error or UNHANDLED
            complete["ErrorDetails"] = result.payload.decode("utf-8", "replace")
        case InvocationStatus.OK:
            if not result.is_streamed:
                events.append(piece_event(result.payload))
    if with_tail:
        complete["LogResult"] = log_tail(log_events(invocation, result, tx.now))
    return EventStream(_NAME, {}, (*events, {"InvokeComplete": complete}))
