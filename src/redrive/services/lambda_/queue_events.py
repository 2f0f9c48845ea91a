"""SQS queues as event sources: receive batches, hide them for the longest time of a run, delete finished messages.

Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document, load_json
from redrive.core.scope import Caller
from redrive.delivery.sources.event_sources import Batch, Polled, Reading
from redrive.delivery.sources.targets import queue_url
from redrive.services.lambda_.limits import RECEIVE_MESSAGES_MAX, SYNC_PAYLOAD_BYTES_MAX
from redrive.services.lambda_.model.batch import batches, sqs_record
from redrive.services.lambda_.model.filters import passes
from redrive.services.lambda_.model.mapping import FIFO_SUFFIX, effective_visibility_s
from redrive.store.api import Transaction
from redrive.store.tables.runs import Link

NextVisible = Callable[[Transaction, str], Instant | None]
"""(queue ARN) -> when the next message is visible, a past instant if one is now; None if the queue is empty."""
CountVisible = Callable[[Transaction, str, int], int]
"""(queue ARN, limit) -> the number of visible messages, counted up to the limit."""
ExecutionsOf = Callable[[Transaction, Sequence[str]], Sequence[Link]]
"""(receipt handles) -> the messages that the handles identify, each with its execution."""
_Poll = Callable[[int], list[Document]]
"""Receives at most this many messages. Errors: ServiceError (queue gone, role refused)."""


class _TooLarge(Exception):
    """One receive returned more than fits into an event."""


class QueueEvents:
    """SQS queues. Implements EventSource."""

    service = "sqs"

    def __init__(
        self, *, next_visible: NextVisible, count_visible: CountVisible, executions_of: ExecutionsOf
    ) -> None:  # fmt: skip
        self._executions_of = executions_of
        self._next_visible = next_visible
        self._count_visible = count_visible

    def due_at(self, tx: Transaction, reading: Reading) -> Instant | None:
        """When a batch is due: when a message is visible; with a window, at its end or when a full batch is visible."""
        first_at = self._next_visible(tx, reading.source_arn)
        if first_at is None or reading.window_s == 0:
            return first_at
        is_full = self._count_visible(tx, reading.source_arn, reading.batch_size) >= reading.batch_size
        return first_at if is_full else first_at + reading.window_s * SECOND_MS

    def poll(self, tx: Transaction, caller: Caller, reading: Reading) -> Polled:
        """Receive the messages of one batch, hide them for the longest time of a run, and split them by size.

        Messages that the filters leave out are deleted.

        Errors: ServiceError (queue gone, role refused).
        """
        poll, hidden_ms = _poll_of(tx, caller, reading)
        if reading.source_arn.endswith(FIFO_SUFFIX):
            found = _receive_in_order(tx, reading, poll)
            kept = self._filtered(tx, caller, reading, found) if reading.filters else Polled(found)
            return replace(kept, hidden_ms=hidden_ms)
        received: list[Document] = []
        size = 0
        while len(received) < reading.batch_size and size < SYNC_PAYLOAD_BYTES_MAX:
            asked_for = min(RECEIVE_MESSAGES_MAX, reading.batch_size - len(received))
            page = poll(asked_for)
            received += page
            size += sum(len(message.get("Body", "")) for message in page)
            if len(page) < asked_for:
                break
        return replace(self._kept(tx, caller, reading, _records(reading, received)), hidden_ms=hidden_ms)

    def _filtered(self, tx: Transaction, caller: Caller, reading: Reading, found: Sequence[Batch]) -> Polled:
        """The same batch of a FIFO queue without what the filters leave out."""
        records = [record for batch in found for record in load_json(batch.event)["Records"]]
        return self._kept(tx, caller, reading, records)

    def _kept(self, tx: Transaction, caller: Caller, reading: Reading, records: Sequence[Document]) -> Polled:
        """Batches of the records that the filters let pass; the others are deleted."""
        kept = [record for record in records if passes(reading.filters, self.service, record)]
        if len(kept) < len(records):
            ids = {record["messageId"] for record in kept}
            left_out = [record["receiptHandle"] for record in records if record["messageId"] not in ids]
            self.acknowledge(tx, caller, reading.source_arn, left_out)
        return Polled(list(batches(kept, bytes_max=SYNC_PAYLOAD_BYTES_MAX)), len(records) - len(kept))

    def executions(self, tx: Transaction, receipts: Sequence[str]) -> Sequence[Link]:
        """Return the executions of a batch's messages; each message of a client has an execution of its own."""
        return self._executions_of(tx, receipts)

    def acknowledge(self, tx: Transaction, caller: Caller, source_arn: str, receipts: Sequence[str]) -> list[str]:
        """Delete messages; returns the reasons for those not deleted, whose receipts had expired.

        Errors: ServiceError (queue gone, role refused).
        """
        url = queue_url(source_arn)
        undone: list[str] = []
        for start in range(0, len(receipts), RECEIVE_MESSAGES_MAX):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt}
                for number, receipt in enumerate(receipts[start : start + RECEIVE_MESSAGES_MAX])
            ]
            answer = tx.services.call(tx, caller, "sqs", "DeleteMessageBatch", {"QueueUrl": url, "Entries": entries})
            undone += [entry["Message"] for entry in answer.get("Failed") or ()]
        return undone


def _poll_of(tx: Transaction, caller: Caller, reading: Reading) -> tuple[_Poll, int]:
    """Return the function that receives from the queue as this caller, and for how long it hides messages, in ms.

    Errors: ServiceError (queue gone, role refused).
    """
    url = queue_url(reading.source_arn)
    asked: Document = {"QueueUrl": url, "AttributeNames": ["VisibilityTimeout"]}
    attributes = tx.services.call(tx, caller, "sqs", "GetQueueAttributes", asked)["Attributes"]
    params: Document = {
        "QueueUrl": url,
        "WaitTimeSeconds": 0,
        "MessageSystemAttributeNames": ["All"],
        "MessageAttributeNames": ["All"],
    }
    own_s = int(attributes["VisibilityTimeout"])
    visibility_s = effective_visibility_s(visibility_s=own_s, window_s=reading.window_s, timeout_s=reading.timeout_s)
    if visibility_s is not None:
        params["VisibilityTimeout"] = visibility_s

    def poll(limit: int) -> list[Document]:
        answer = tx.services.call(tx, caller, "sqs", "ReceiveMessage", {**params, "MaxNumberOfMessages": limit})
        return answer.get("Messages") or []

    return poll, (own_s if visibility_s is None else visibility_s) * SECOND_MS


def _receive_in_order(tx: Transaction, reading: Reading, poll: _Poll) -> list[Batch]:
    """Return one receive of a FIFO queue, of one group or several, as one event; empty if there are no messages.

    If a receive does not fit into an event, the receive is rolled back and a smaller one follows. Otherwise the
    remaining messages would block their groups, and would get closer to the dead-letter queue without a run.

    Errors: ServiceError (queue gone, role refused).
    """
    limit = reading.batch_size
    while True:
        try:
            with tx.savepoint():
                found = _batches(reading, poll(limit))
                if len(found) > 1:
                    raise _TooLarge
                return found
        except _TooLarge:
            limit = len(found[0].receipts)


def _batches(reading: Reading, messages: Sequence[Document]) -> list[Batch]:
    return list(batches(_records(reading, messages), bytes_max=SYNC_PAYLOAD_BYTES_MAX))


def _records(reading: Reading, messages: Sequence[Document]) -> list[Document]:
    return [sqs_record(message, reading.source_arn) for message in messages]
