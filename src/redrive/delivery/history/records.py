"""The history of deliveries: the only module that records attempts and ends, for all sources.

The delivery worker writes the history. A source returns how a delivery ended. A source itself records only the work
that it left out, and what became of destinations. Each record has typed fields, so nobody has to parse a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, GiveUp
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord, NoteRecord, RunRecord, RunState
from redrive.store.tables.deliveries import Delivery
from redrive.store.tables.runs import Link

DESTINATION = "destination"
"""The kind of a note about a destination: it was told of an end, or could not be told."""

LOOP = "loop"
"""The kind of a note about a delivery whose source has caused what it delivers."""

BATCH = "batch"
"""The kind of a run of a batch of messages."""

MISSED_CODE = "Missed"
"""The error code in the record of work for which no delivery was ever created."""


class Origin(NamedTuple):
    """The execution that a delivery belongs to, and the id of the delivery that caused it (empty if none did)."""

    execution_id: str
    cause: str = ""


class End(NamedTuple):
    """How a delivery ended.

    `letter_arn`: the queue for the dead letter. `led_to`: the dead letter's message id. `why`: why there is no dead
    letter.
    """

    state: RunState
    letter_arn: str = ""
    led_to: str = ""
    why: str = ""

    @classmethod
    def of(cls, verdict: Delivered | GiveUp) -> End:
        """The end of a delivery that writes no dead letter."""
        return _DELIVERED if isinstance(verdict, Delivered) else _GAVE_UP

    @classmethod
    def dead_lettered(cls, queue_arn: str, message_id: str) -> End:
        """The end of a delivery whose dead letter is in its queue."""
        return cls(RunState.DEAD_LETTERED, queue_arn, message_id)

    @classmethod
    def dropped(cls, why: str, *, letter_arn: str = "") -> End:
        """The end of a delivery without a dead letter: there is no dead-letter queue, or writing the letter failed."""
        return cls(RunState.DROPPED, letter_arn, why=why)


_DELIVERED = End(RunState.DELIVERED)
_GAVE_UP = End(RunState.GAVE_UP)


class Ran(NamedTuple):
    """What an attempt produced: the id of its message or the ARN of its execution, and its function's log stream."""

    led_to: str = ""
    log_stream: str = ""


NOTHING_RAN = Ran()


def record_retry(
    tx: Transaction, delivery: Delivery, origin: Origin, failed: Failed, at: Instant, ran: Ran = NOTHING_RAN
) -> None:
    """Record an attempt after which the delivery is retried."""
    if delivery.attempts > 1 and tx.attempts.record_retry(
        delivery.id, delivery.attempts, tx.now, code=failed.code, message=failed.message, next_at=at,
        log_stream=ran.log_stream,
    ):  # fmt: skip
        return
    attempt = AttemptRecord(
        delivery.id, delivery.source_arn, delivery.attempts, tx.now, RunState.RETRYING, failed.code, failed.message,
        next_at=at, log_stream=ran.log_stream,
    )  # fmt: skip
    tx.attempts.record(_run(delivery, origin, RunState.RETRYING, None), attempt)


def record_end(
    tx: Transaction, delivery: Delivery, origin: Origin, failed: Failed | None, end: End, ran: Ran = NOTHING_RAN
) -> None:
    """Record the last attempt at a delivery, and how the delivery ended."""
    code, message = ("", "") if failed is None else (failed.code, failed.message)
    attempt = AttemptRecord(
        delivery.id, delivery.source_arn, delivery.attempts, tx.now, end.state, code, message, None,
        end.letter_arn, end.led_to or ran.led_to, end.why, ran.log_stream,
    )  # fmt: skip
    tx.attempts.record(_run(delivery, origin, end.state, tx.now), attempt)


def record_successes(tx: Transaction, delivered: Sequence[tuple[Delivery, Origin, Ran]]) -> None:
    """Record new deliveries that have all succeeded at their first attempt, without a row for their promises before."""
    tx.attempts.record_successes(
        [
            (
                _run(delivery, origin, RunState.DELIVERED, tx.now),
                AttemptRecord(delivery.id, delivery.source_arn, 1, tx.now, RunState.DELIVERED, led_to=ran.led_to),
            )
            for delivery, origin, ran in delivered
        ]
    )  # fmt: skip


def record_destination(
    tx: Transaction, delivery: Delivery, arn: str, *, led_to: str = "", error: ServiceError | None = None
) -> None:
    """Record that a destination was told of a delivery's end, or the error that prevented this."""
    code, message = ("", "") if error is None else (error.code, error.message)
    tx.attempts.note(delivery.id, NoteRecord(tx.now, DESTINATION, arn, led_to, code, message))


def record_loop(tx: Transaction, delivery: Delivery, arn: str, message: str) -> None:
    """Record that a delivery belongs to a loop: `arn` has caused what it delivers."""
    tx.attempts.note(delivery.id, NoteRecord(tx.now, LOOP, arn, "", "Loop", message))


def record_batch(
    tx: Transaction, batch: Delivery, source_arn: str, links: Sequence[Link], failed: Failed | None, *, why: str = "",
    log_stream: str = "",
) -> None:  # fmt: skip
    """Record the outcome of a batch and its messages. Messages that were not processed are in their queue again.

    A batch whose messages belong to one execution belongs to that execution. A batch of several executions is an
    execution of its own, with a link to each of them.
    """
    executions = {link.execution_id for link in links}
    execution_id = executions.pop() if len(executions) == 1 else batch.id
    is_done = failed is None and not why and all(link.is_done for link in links)
    state = RunState.DELIVERED if is_done else RunState.RETURNED
    code, message = ("", "") if failed is None else (failed.code, failed.message)
    run = RunRecord(
        batch.id, str(batch.scope), BATCH, source_arn, batch.target_arn, execution_id, "", state, batch.first_at, tx.now
    )
    attempt = AttemptRecord(
        batch.id, source_arn, 1, tx.now, state, code, message, why=why, log_stream=log_stream
    )  # fmt: skip
    tx.runs.link(tx.attempts.record(run, attempt), links)


@dataclass(frozen=True, slots=True)
class StreamAttempt:
    """An attempt at a batch of stream records that has ended. A batch keeps its id while it is tried again.

    `number` counts from 1. `state` is that of the batch afterwards.
    """

    batch_id: str
    execution_id: str
    scope: Scope
    source_arn: str
    target_arn: str
    number: int
    first_at: Instant
    state: RunState
    failed: Failed | None = None
    next_at: Instant | None = None
    letter_arn: str = ""
    led_to: str = ""
    why: str = ""
    log_stream: str = ""


def record_stream_attempt(tx: Transaction, one: StreamAttempt) -> None:
    """Record an attempt at a batch of stream records."""
    ended_at = None if one.state is RunState.RETRYING else tx.now
    run = RunRecord(
        one.batch_id, str(one.scope), BATCH, one.source_arn, one.target_arn, one.execution_id, "", one.state,
        one.first_at, ended_at,
    )  # fmt: skip
    code, message = ("", "") if one.failed is None else (one.failed.code, one.failed.message)
    attempt = AttemptRecord(
        one.batch_id, one.source_arn, one.number, tx.now, one.state, code, message, one.next_at, one.letter_arn,
        one.led_to, one.why, one.log_stream,
    )  # fmt: skip
    tx.attempts.record(run, attempt)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Work that is never done: `count` pieces from `first_at` to `last_at`, and why."""

    delivery_id: str
    execution_id: str
    source_arn: str
    target_arn: str
    scope: Scope
    kind: str
    count: int
    first_at: Instant
    last_at: Instant
    why: str


def record_left_out(tx: Transaction, left_out: LeftOut) -> None:
    """Record work for which no delivery was created: a run with attempt 0."""
    run = RunRecord(
        left_out.delivery_id, str(left_out.scope), left_out.kind, left_out.source_arn, left_out.target_arn,
        left_out.execution_id, "", RunState.MISSED, left_out.first_at, tx.now, left_out.count, left_out.last_at,
    )  # fmt: skip
    attempt = AttemptRecord(
        left_out.delivery_id, left_out.source_arn, 0, tx.now, RunState.MISSED, MISSED_CODE, why=left_out.why
    )
    tx.attempts.record(run, attempt)


def _run(delivery: Delivery, origin: Origin, state: RunState, ended_at: Instant | None) -> RunRecord:
    return RunRecord(
        delivery.id, str(delivery.scope), delivery.source, delivery.source_arn, delivery.target_arn,
        origin.execution_id, origin.cause, state, delivery.first_at, ended_at,
    )  # fmt: skip
