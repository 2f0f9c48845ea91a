"""One run of the handler: how it dies, and its beginning and its end as text."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.outside.invocation import Invocation
from redrive.invoke.runtime.handlers import Answer
from redrive.prove.calls.calls import Call, Params
from redrive.prove.play.asked import Way
from redrive.prove.play.behaviour import Course
from redrive.prove.play.environments import Environment
from redrive.prove.play.events import Delivered, Ending
from redrive.prove.play.faults import Fault
from redrive.prove.play.reply import Told, told_of
from redrive.prove.process.subject import Place, Subject
from redrive.prove.stage.trigger import Kind
from redrive.services.lambda_.model.stream_batch import sequence_number

_EVENTS_KEPT = 1_024


class Died(BaseException):
    """The process of a run dies here. Not an Exception, so that the handler does not catch it."""


@dataclass(slots=True)
class Run:
    """A run under way."""

    number: int
    deadline_at: Instant
    subject: Subject
    function_name: str
    kind: Kind = Kind.SQS
    """What has fed it."""
    handles: tuple[str, ...] = ()
    """The receipt handles of its messages."""
    invocation: Invocation | None = None
    """What it was invoked with, unless a queue has fed it."""
    environment: Environment = field(default_factory=Environment)
    throttled: set[str] = field(default_factory=set)
    unreached: set[str] = field(default_factory=set)
    death: Ending | None = None
    met: list[tuple[Instant, str]] = field(default_factory=list)
    """What it received and was told, and when: two runs with equal observations continue alike."""
    is_told_all: bool = True
    """Whether all observations can be compared. Streams and objects of the user's own cannot."""
    course: Course | None = None
    """What is known of the run's behaviour; None if its code alone decides."""

    def meet(self, at: Instant, told: object) -> None:
        """Add an observation. Details of a request (its id, its checksum, its retries) do not count."""
        self.hear(at, told_of(told))

    def hear(self, at: Instant, told: Told) -> None:
        """Add an observation that is in words already."""
        self.is_told_all = self.is_told_all and told.is_all
        self.met.append((at, told.text))

    def way(self, name: str, faults: Collection[Fault], *, outage: str) -> Way:
        """How a call of this name proceeds: refused while an outage of its kind lasts, and refused after a throttle."""
        if Fault.THROTTLED in faults:
            self.throttled.add(name)
        if Fault.UNREACHED in faults:
            self.unreached.add(name)
        if name in self.unreached:
            return Way.UNREACHED
        if name in self.throttled or name == outage:
            return Way.REFUSED
        if Fault.LOST in faults:
            return Way.LOST
        if Fault.BAD_GATEWAY in faults:
            return Way.BAD_GATEWAY
        if Fault.PARTLY_REFUSED in faults:
            return Way.PARTLY
        return Way.RETRIED if Fault.LOST_AND_RETRIED in faults else Way.NORMAL

    def die(self, ending: Ending = Ending.DIED) -> None:
        """End the run here. Errors: Died, always."""
        self.death = ending
        raise Died


@dataclass(slots=True)
class Passage:
    """A call of a run under way. `note` receives what it did, each time that it took effect."""

    call: Call
    place: Place | None
    index: int
    faults: tuple[Fault, ...]
    way: Way
    note: Callable[[Params], None]
    is_retried: bool
    is_resumed: bool
    """Whether another run came while the run was paused right before the call."""
    times: int = 0
    answer: object = None
    outcome: str = ""
    """What the handler was told if the call failed without an exception: `status 503`."""

    def take_effect(self, answer: Params) -> None:
        """Record that the call took effect."""
        self.times += 1
        self.note(answer)


def given(at: Instant, run: int, invocation: Invocation, kind: Kind) -> Delivered:
    """The input of a run: its messages, with how often each was received, its records, or its event.

    All attempts at an event have the same request id; those at a task or a request to an API have one each.
    """
    if kind.is_direct or kind.is_awaited:
        return Delivered(at, run, (invocation.request_id,), (), kind)
    records = _records_in(invocation.payload)
    if kind.is_stream:
        return Delivered(at, run, tuple(map(sequence_number, records)), (), kind)
    ids = tuple(str(record["messageId"]) for record in records)
    receives = tuple(int(record["attributes"]["ApproximateReceiveCount"]) for record in records)
    return Delivered(at, run, ids, receives, kind)


_SOURCES = {
    "aws:sqs": Kind.SQS,
    "aws:kinesis": Kind.KINESIS,
    "aws:dynamodb": Kind.DYNAMODB,
    "aws:s3": Kind.S3,
}
"""The kinds of triggers by the event sources that their records name."""


def kind_of(invocation: Invocation) -> Kind:
    """What feeds a function, by the event of one of its runs."""
    event = event_in(invocation.payload)
    records = event.get("Records") if isinstance(event, dict) else None
    first = records[0] if isinstance(records, list) and records else None
    return _SOURCES.get(str(first.get("eventSource")), Kind.LAMBDA) if isinstance(first, dict) else Kind.LAMBDA


def handles_of(invocation: Invocation) -> tuple[str, ...]:
    """The receipt handles of the messages in a run's event."""
    return tuple(str(record["receiptHandle"]) for record in _records_in(invocation.payload))


def _records_in(payload: bytes) -> Sequence[Document]:
    return cast("Document", event_in(payload))["Records"]  # type: ignore[no-any-return] # As AWS sends it.


@functools.lru_cache(_EVENTS_KEPT)
def event_in(payload: bytes) -> object:
    """The event of a run, which nobody changes: most runs are given what others were given."""
    return cast("object", load_json(payload))


def payload_for(subject: Subject, invocation: Invocation) -> bytes:
    """What a handler is given: a pipe gives a list of records, without the envelope of a mapping.

    What stands in `kinesis` of a record stands in the record itself there.
    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-kinesis.html
    """
    if not getattr(subject, "takes_list", False):
        return invocation.payload
    records = load_json(invocation.payload).get("Records")
    if records is None:
        return invocation.payload
    flat = [{**one.pop("kinesis"), **one} if "kinesis" in one else one for one in records]
    return dump_json(flat).encode()


def told(answer: Answer) -> str:
    """A run's result or exception, in one line."""
    if answer.error_type is None:
        return answer.payload.decode()
    return f"{answer.error_type}: {json.loads(answer.payload)['errorMessage']}"
