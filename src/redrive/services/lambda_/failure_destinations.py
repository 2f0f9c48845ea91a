"""On-failure destinations of mappings from streams: send the record of a batch that was given up.

As on AWS, a record that its destination refuses is lost; the run's history and a metric say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.sources.targets import queue_url
from redrive.services.lambda_.buckets import put_record, shard_folder
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.metrics import DESTINATION_FAILURES
from redrive.services.lambda_.runs import count
from redrive.store.api import Transaction
from redrive.store.tables.attempts import RunState


@dataclass(frozen=True, slots=True)
class Sent:
    """How a batch that was given up ended: `led_to` is what the destination has, `why` is why it has nothing."""

    state: RunState
    letter_arn: str = ""
    led_to: str = ""
    why: str = ""


def send_failure(
    tx: Transaction, caller: Caller | ServiceError, mapping: EventSourceMapping, record: Document, *, shard_id: str,
    event: Callable[[], str],
) -> Sent:  # fmt: skip
    """Send a record to the mapping's destination as the function's role, which perhaps could not be assumed.

    A bucket gets the whole `event` of the batch, too, as `payload`.
    """
    destination = "" if mapping.stream is None else mapping.stream.on_failure_arn
    if not destination:
        return Sent(RunState.DROPPED, why="the mapping has no on-failure destination")
    try:
        if isinstance(caller, ServiceError):
            raise caller
        service = Arn.parse(destination).service
        if service == "s3":
            whole = dump_json({**record, "payload": event()})
            key = put_record(tx, caller, destination, shard_folder(mapping.name, shard_id), whole)
            return Sent(RunState.DEAD_LETTERED, destination, key)
        if service == "sns":
            params = {"TopicArn": destination, "Message": dump_json(record)}
            answer = tx.services.call(tx, caller, "sns", "Publish", params)
        else:
            params = {"QueueUrl": queue_url(destination), "MessageBody": dump_json(record)}
            answer = tx.services.call(tx, caller, "sqs", "SendMessage", params)
    except ServiceError as error:
        count(tx, mapping.function_arn, DESTINATION_FAILURES)
        why = f"the record to {destination} failed with {error.code}: {error.message}"
        return Sent(RunState.DROPPED, destination, why=why)
    return Sent(RunState.DEAD_LETTERED, destination, str(answer["MessageId"]))
