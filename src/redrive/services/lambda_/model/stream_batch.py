"""Batches of stream records: the function's event, what its answer says, and what follows for the shard's lane.

All functions here are pure. The answers of a function, of a mapping with ReportBatchItemFailures:

    nothing, "", null, {}, {"batchItemFailures": null or []}      all records are done
    {"batchItemFailures": [{"itemIdentifier": number}, …]}        those before the lowest number are done
    not JSON, not an object, a value that is not a list,
    an identifier that is empty, null, missing or unknown         none is done

With a tumbling window, an answer without `state` is a failure.
Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.services.lambda_.limits import WINDOW_STATE_BYTES_MAX
from redrive.services.lambda_.model.batch import reported_failures
from redrive.services.lambda_.model.failure_record import Edge
from redrive.services.lambda_.model.shard_state import Lane, Window
from redrive.services.lambda_.model.stream_settings import StreamSettings, backoff_ms


@dataclass(frozen=True, slots=True)
class Done:
    """All records of the batch are done."""

    state: object = None


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """The records before this place in the batch are done."""

    place: int
    state: object = None


@dataclass(frozen=True, slots=True)
class Undone:
    """The function failed, or its answer is no answer."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class NotRun:
    """The function was never called: it was throttled, or the service failed."""


Answer = Done | DoneBefore | Undone | NotRun


class End(enum.Enum):
    """What followed an attempt at a batch."""

    DONE = "done"
    RETRY = "retry"
    SPLIT = "split"
    """The rest of the batch comes again in other batches."""
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Settlement:
    """The lane after an attempt. The first `done` records of the batch are done; with GIVE_UP the others are not."""

    lane: Lane
    end: End
    done: int
    why: str = ""


def stream_event(texts: Sequence[str], window: Document | None) -> bytes:
    """The function's event. `window` has the members of a tumbling window."""
    records = f'{{"Records":[{",".join(texts)}]'
    return f"{records}{'}' if window is None else ',' + dump_json(window)[1:]}".encode()


def window_members(window: Window, shard_id: str, source_arn: str, *, is_final: bool, is_cut: bool) -> Document:
    """The members of an event that belong to its tumbling window.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-windows.html
    """
    return {
        "window": {"start": _iso(window.start), "end": _iso(window.end)},
        "state": window.state,
        "shardId": shard_id,
        "eventSourceARN": source_arn,
        "isFinalInvokeForWindow": is_final,
        "isWindowTerminatedEarly": is_cut,
    }


def sequence_number(record: Mapping[str, Mapping[str, object]]) -> str:
    """The sequence number of a record in an event."""
    if "kinesis" in record:
        return str(record["kinesis"]["sequenceNumber"])
    return str(record["dynamodb"]["SequenceNumber"])


def read_answer(
    result: InvocationResult, event: bytes, *, reports_failures: bool, has_state: bool
) -> Answer:  # fmt: skip
    """What an attempt says of the records in its event."""
    match result.status:
        case InvocationStatus.THROTTLED | InvocationStatus.SERVICE_ERROR:
            return NotRun()
        case InvocationStatus.FUNCTION_ERROR:
            return Undone()
        case InvocationStatus.OK:
            pass
    state: object = None
    if has_state:
        answer = _object(result.payload)
        if answer is None or "state" not in answer:
            return Undone("the answer has no state, which a tumbling window needs")
        state = answer["state"]
    if not reports_failures:
        return Done(state)
    reported = reported_failures(result.payload)
    if reported == []:
        return Done(state)
    numbers = [sequence_number(record) for record in load_json(event)["Records"]]
    places = [numbers.index(one) for one in reported or () if one in numbers]
    if reported is None or len(places) < len(reported):
        return Undone("the answer names records that the batch does not have")
    return DoneBefore(min(places), state)


def after_attempt(
    lane: Lane, seqs: Sequence[int], answer: Answer, settings: StreamSettings, now: Instant
) -> Settlement:
    """What follows for a lane whose attempt at these records has ended.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
    """
    ended = replace(lane, running="")
    match answer:
        case Done(state):
            return Settlement(_with_state(ended.moved(seqs[-1]), state), End.DONE, len(seqs))
        case NotRun():
            return Settlement(_waiting(ended, now), End.RETRY, 0)
        case DoneBefore(place, state) if place > 0:
            return _checkpoint(_with_state(ended, state), seqs, place, settings, now)
        case Undone() if settings.bisects and len(seqs) > 1:
            return _split(ended, seqs, now)
        case DoneBefore() | Undone():
            why = answer.why if isinstance(answer, Undone) else "the function reports its first record"
            return _count(ended, seqs, settings, now, why)


def after_last_call(lane: Lane, answer: Answer, settings: StreamSettings, now: Instant) -> Settlement:
    """What follows after the last call for a window: its state ends, or the call comes again.

    A window that was cut goes on with an empty state.
    """
    ended = replace(lane, running="")
    window = lane.window
    assert window is not None, "the call was for a window"
    after = Window(window.start, window.end, {}) if window.is_cut else None
    match answer:
        case Done():
            return Settlement(replace(ended.rested(), window=after), End.DONE, 0)
        case NotRun():
            return Settlement(_waiting(ended, now), End.RETRY, 0)
        case DoneBefore() | Undone():
            failed = replace(ended, failures=ended.failures + 1)
            if settings.is_exhausted(failed.failures):
                return Settlement(replace(ended.rested(), window=after), End.GIVE_UP, 0)
            return Settlement(_waiting(failed, now), End.RETRY, 0)


def _count(lane: Lane, seqs: Sequence[int], settings: StreamSettings, now: Instant, why: str) -> Settlement:
    """Count a failure of the whole batch: it comes again, or is given up."""
    failed = replace(lane, failures=lane.failures + 1)
    if settings.is_exhausted(failed.failures):
        return Settlement(failed.moved(seqs[-1]), End.GIVE_UP, 0, why)
    return Settlement(_waiting(failed, now), End.RETRY, 0, why)


def _checkpoint(lane: Lane, seqs: Sequence[int], place: int, settings: StreamSettings, now: Instant) -> Settlement:
    """Move to the record before the one that failed; the rest is a smaller batch, with one failure behind it.

    With bisecting, the checkpoint is a split, which uses up no retry.
    """
    failures = 0 if settings.bisects else 1
    if settings.is_exhausted(failures):
        return Settlement(lane.moved(seqs[-1]), End.GIVE_UP, place)
    rest = replace(
        lane.rested(), position=seqs[place - 1], attempts=0, failures=failures, waits=1, retry_at=now + backoff_ms(1)
    )
    return Settlement(rest, End.SPLIT, place, f"{len(seqs) - place} of its records come again")


def _split(lane: Lane, seqs: Sequence[int], now: Instant) -> Settlement:
    """Split a batch in two; the first half is the larger one. This uses up no retry."""
    middle = (len(seqs) + 1) // 2
    halves = replace(
        lane.rested(), ends=(seqs[middle - 1], *lane.ends), waits=1, retry_at=now + backoff_ms(1)
    )  # fmt: skip
    return Settlement(halves, End.SPLIT, 0, f"it was split into {middle} and {len(seqs) - middle} records")


def _waiting(lane: Lane, now: Instant) -> Lane:
    waits = lane.waits + 1
    return replace(lane, waits=waits, retry_at=now + backoff_ms(waits))


def _with_state(lane: Lane, state: object) -> Lane:
    if lane.window is None:
        return lane
    is_cut = len(dump_json(state).encode()) > WINDOW_STATE_BYTES_MAX
    return replace(lane, window=replace(lane.window, state=state, is_cut=is_cut))


def _object(payload: bytes) -> Document | None:
    try:
        answer = load_json(payload)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _iso(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%dT%H:%M:%S}Z"


def edge_of(record: Document) -> Edge:
    """A record of an event, with the instant of its arrival."""
    data, change = record.get("kinesis"), record.get("dynamodb")
    at = data["approximateArrivalTimestamp"] if data else (change or {}).get("ApproximateCreationDateTime", 0)
    return Edge(sequence_number(record), round(at * 1000))
