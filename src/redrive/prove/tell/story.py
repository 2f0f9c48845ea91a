"""A history for the user: numbered steps, each with its virtual time and the line of the handler that it concerns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import assert_never

from redrive.core.clock import SECOND_MS, Instant
from redrive.prove.calls.calls import HTTP_SERVICE
from redrive.prove.play.events import Called, DeadLettered, Delivered, Ended, Ending, Event, Sent, Shown
from redrive.prove.play.faults import ENDS_RUN, Act, Fault
from redrive.prove.process.subject import Place
from redrive.prove.stage.stage import START
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell import words

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
EQUAL_MAX = 4
"""Of more runs one after another that go as an earlier one, not each is told."""
_EQUAL = ", and goes on as run "
STEPS_MAX = 40
"""A story with more steps than this is shortened."""
_ANSWER_CHARS_MAX = 100
_GIVEN_TOLD_MAX = 3
"""Of more messages that a run is given at once, not each one is named."""
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_RECORD = "record"
_NAMES_TOLD_MAX = 3
_GIVEN = {
    Kind.SQS: "message", Kind.EVENTBRIDGE: "event, as the request", Kind.LAMBDA: "event, as the request",
    Kind.KINESIS: _RECORD, Kind.DYNAMODB: _RECORD, Kind.S3: "event, as the request",
    **words.GIVEN,
}  # fmt: skip
_KEPT = "Lambda keeps its event for a retry"
_BLOCKED = "its records block their shard until they are done or given up"
_AFTER_FAILURE = {
    Kind.SQS: "its message stays in the queue", Kind.EVENTBRIDGE: _KEPT, Kind.LAMBDA: _KEPT, Kind.KINESIS: _BLOCKED,
    Kind.DYNAMODB: _BLOCKED, Kind.S3: _KEPT, **words.AFTER_FAILURE,
}  # fmt: skip
_REQUEST_AGAIN = "Lambda invokes the function once more with the very request that run {run} works on"
_BATCH_AGAIN = "the very batch that run {run} works on is read a second time, and given to another run"
_SHOWN = {
    Kind.SQS: "the very message that run {run} works on is handed out a second time",
    Kind.EVENTBRIDGE: _REQUEST_AGAIN, Kind.LAMBDA: _REQUEST_AGAIN, Kind.KINESIS: _BATCH_AGAIN,
    Kind.DYNAMODB: _BATCH_AGAIN, Kind.S3: _REQUEST_AGAIN, Kind.SNS: _REQUEST_AGAIN, Kind.SCHEDULE: _REQUEST_AGAIN,
}  # fmt: skip
_INVOKED_AGAIN = "the function is invoked again with the events of the dead letters"
_READ_AGAIN = "the records that the dead letters name are read from the stream, and the function is invoked with them"
_REREAD = "the mapping's checkpoints are lost: the records come again, with their sequence numbers"
_COMES = {
    (Act.DUPLICATE, Kind.SQS): "the message comes a second time, with the same body and another message id",
    (Act.DUPLICATE, Kind.EVENTBRIDGE): "the bus delivers the event a second time: the same event id, and another "
    "request id",
    (Act.DUPLICATE, Kind.LAMBDA): "the caller invokes the function a second time: the same event, and another request "
    "id",
    (Act.DUPLICATE, Kind.S3): "S3 tells of the change a second time: the same record with the same sequencer, and "
    "another request id",
    (Act.DUPLICATE, Kind.KINESIS): "the producer puts the record a second time: the same data, and another sequence "
    "number",
    (Act.REPUBLISH, Kind.EVENTBRIDGE): "the producer publishes the event a second time: the same detail, and another "
    "event id",
    (Act.REDRIVE, Kind.SQS): "the dead letters are redriven: they return to the queue under new message ids",
    (Act.REDRIVE, Kind.EVENTBRIDGE): _INVOKED_AGAIN,
    (Act.REDRIVE, Kind.LAMBDA): _INVOKED_AGAIN,
    (Act.REDRIVE, Kind.S3): _INVOKED_AGAIN,
    (Act.REDRIVE, Kind.KINESIS): _READ_AGAIN,
    (Act.REDRIVE, Kind.DYNAMODB): _READ_AGAIN,
    (Act.REREAD, Kind.KINESIS): _REREAD,
    (Act.REREAD, Kind.DYNAMODB): _REREAD,
    **words.COMES,
}
_RUN = re.compile(r"(?:^|(?<=that )|(?<=what )|(?<=goes on as ))run (\d+)\b")
"""The runs in a step's own words; what a handler has said comes after them."""
_LASTING = frozenset({Fault.THROTTLED, Fault.OUTAGE, Fault.UNREACHED})
"""Faults that all later calls of their kind meet as well."""
_DEATHS = "a crash, a kill or its timeout"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `at` is the time since the message was sent: `+3m`, `+3d 9m`."""

    at: str
    text: str
    place: Place | None = None
    is_fault: bool = False


def tell(events: Sequence[Event]) -> list[Step]:
    """The steps of a history; of a very long history, its beginning and its end."""
    names = {event.run: event.function for event in events if isinstance(event, Delivered) and event.function}
    changing = {event.run for event in events if isinstance(event, Called) and event.times and event.call.changes}
    told = _shortened(_without_equal_runs(_together(list(_counted(events))), changing))
    steps = [_with_function(step, names) for step in told]
    if len(steps) <= STEPS_MAX:
        return steps
    begin, end = steps[: STEPS_MAX // 2], steps[-STEPS_MAX // 4 :]
    return [*begin, Step(end[0].at, f"… and so on: {len(steps) - len(begin) - len(end)} steps are left out"), *end]


def _with_function(step: Step, names: Mapping[int, str]) -> Step:
    """In a system, the step with the function of its run: `run 3 of ShipOrder`."""
    named = _RUN.sub(lambda found: f"{found[0]} of {names[int(found[1])]}", step.text) if names else step.text
    return replace(step, text=named)


def _together(events: Sequence[Event]) -> list[tuple[int, Step]]:
    """The steps of events, each with its run; calls of a run that are told the same one after another are one step."""
    steps: list[tuple[int, Step]] = []
    for _, group in groupby(enumerate(events), lambda pair: _alike(*pair)):
        same = [event for _, event in group]
        for step in _steps_of(same[0]):
            times = f", {len(same)} times" if len(same) > 1 else ""
            steps.append((_run_of(same[0]), replace(step, text=f"{step.text}{times}")))
    return steps


def _alike(number: int, event: Event) -> tuple[object, ...]:
    """What is equal for calls that are told as one: the fault of a call that is throttled holds for those after it."""
    if not isinstance(event, Called) or not event.outcome or set(event.faults) - _LASTING:
        return ("alone", number)
    return ("called", event.run, str(event.call), event.outcome, event.place)


def _run_of(event: Event) -> int:
    return event.run if isinstance(event, Delivered | Called | Ended) else 0


def _without_equal_runs(steps: Sequence[tuple[int, Step]], changing: Collection[int]) -> list[Step]:
    """The steps, with one in the place of a run that goes exactly as an earlier one, but for its number and time.

    Runs that have changed something (`changing`) are told: it may be their change that there is too much of.
    """
    told: list[Step] = []
    known: dict[tuple[object, ...], int] = {}
    for run, group in groupby(steps, lambda pair: pair[0]):
        own = [step for _, step in group]
        key = tuple((step.text.replace(f"run {run}", "run"), step.place) for step in own[1:])
        is_ended = own[-1].text.startswith((f"run {run} returns", f"run {run} fails"))
        is_whole = (
            run > 0
            and run not in changing
            and " begins: " in own[0].text
            and is_ended
            and not any(step.is_fault for step in own)
        )
        if is_whole and key in known:
            told.append(Step(own[0].at, f"{own[0].text}{_EQUAL}{known[key]}"))
            continue
        if is_whole:
            known[key] = run
        told += own
    return told


def _shortened(steps: Sequence[Step]) -> list[Step]:
    """The steps, with one in the place of many runs one after another that go as earlier ones."""
    told: list[Step] = []
    for is_equal, group in groupby(steps, lambda step: _EQUAL in step.text):
        same = list(group)
        if is_equal and len(same) > EQUAL_MAX:
            more = Step(same[-2].at, f"… and so on: {len(same) - EQUAL_MAX + 1} more runs go on like that")
            same = [*same[: EQUAL_MAX - 2], more, same[-1]]
        told += same
    return told


def _counted(events: Sequence[Event]) -> Iterator[Event]:
    """The events; how often each request has come, or each record, is counted here.

    Records of streams are numbered in the order in which they come first: their sequence numbers are long and alike.
    """
    times: Counter[str] = Counter()
    numbers: dict[str, str] = {}
    for event in events:
        if isinstance(event, Delivered) and not event.kind.is_queue:
            times.update(event.message_ids)
            counted = replace(event, receives=tuple(times[one] for one in event.message_ids))
            if event.kind.is_stream:
                ids = tuple(numbers.setdefault(one, str(len(numbers) + 1)) for one in event.message_ids)
                counted = replace(counted, message_ids=ids)
            yield counted
        else:
            yield event


def _steps_of(event: Event) -> Iterator[Step]:
    at = elapsed(event.at)
    match event:
        case Delivered(run=run, message_ids=ids, receives=receives, kind=kind, through=through):
            way = f" ({through})" if through else ""
            yield Step(
                at, f"run {run}{_environment(event)} begins: it is given the {_given_told(ids, receives, kind)}{way}"
            )
        case Called():
            yield _call_step(at, event)
            if Fault.CRASH_AFTER in event.faults:
                yield Step(at, f"run {event.run} dies here ({_DEATHS}): what it did stays", event.place, is_fault=True)
        case Ended(run=run, ending=ending, answer=answer, kind=kind):
            yield from _end_steps(at, run, ending, answer, _AFTER_FAILURE[kind])
        case Sent(act=act, kind=kind, told=told):
            yield Step(at, told or _COMES[act, kind], is_fault=act not in {Act.REDRIVE, Act.NEXT})
        case Shown(run=run, kind=kind):
            yield Step(at, _SHOWN[kind].format(run=run), is_fault=True)
        case DeadLettered(count=count, kind=kind, told=told):
            yield Step(at, told or _dead_lettered(count, kind))
        case _:
            assert_never(event)


def _environment(event: Delivered) -> str:
    """Where a run is, if its environment is not a new one."""
    if not event.after:
        return ""
    names = ", ".join(event.remembers[:_NAMES_TOLD_MAX])
    kept = f", which still has what it left in {names}" if names else ""
    return f", in the same environment as run {event.after} before{kept},"


def _given_told(ids: Sequence[str], receives: Sequence[int], kind: Kind) -> str:
    """What a run is given, and for the how manieth time; of many that come as often, how many there are."""
    if len(ids) > _GIVEN_TOLD_MAX and len(set(receives)) == 1 and not kind.is_direct:
        named = ", ".join(_short(one, kind) for one in ids[:_GIVEN_TOLD_MAX])
        return f"{len(ids)} {_GIVEN[kind]}s {named} and so on, each for the {_ordinal(receives[0])} time"
    if kind.is_awaited:
        return f"{_GIVEN[kind]} {_short(ids[0], kind)}"
    told = [f"{_short(one, kind)} for the {_ordinal(count)} time" for one, count in zip(ids, receives, strict=True)]
    return f"{_GIVEN[kind]} {', '.join(told)}"


def _short(one: str, kind: Kind) -> str:
    """An id, as far as it is shown."""
    return one if kind.is_stream else f"{one[:8]}…"


def _dead_lettered(count: int, kind: Kind) -> str:
    """What became of what was given up. Of a stream the letter stands for a batch, and names its records."""
    if kind.is_awaited:
        return words.GIVEN_UP[kind]
    if kind.is_stream:
        letters = "a letter names them" if count == 1 else f"{count} letters name them"
        return f"records were given up, and the shard goes on behind them: {letters} in the dead-letter queue"
    noun = "event" if kind.is_direct else "message"
    what = f"the {noun} was" if count == 1 else f"{count} {noun}s were"
    how = "tried as often as the function allows" if kind.is_direct else "received as often as the queue allows"
    return f"{what} {how}: now in the dead-letter queue"


def _call_step(at: str, event: Called) -> Step:
    run = f"run {event.run}"
    if Fault.CRASH_BEFORE in event.faults:
        text = f"{run} dies here ({_DEATHS}), before {event.call}"
        return Step(at, text, event.place, is_fault=True)
    is_fault = bool(set(event.faults) - ENDS_RUN)
    if Fault.LOST in event.faults:
        text = f"{run}: {event.call} happens, but its answer is lost: the handler sees {event.outcome}"
    elif Fault.LOST_AND_RETRIED in event.faults:
        told = f" and is told {event.outcome}" if event.outcome else ""
        text = f"{run}: {event.call} happens, its answer is lost, and the client asks again by itself{told}"
    elif Fault.PARTLY_REFUSED in event.faults:
        text = f"{run}: {event.call} succeeds but for its last entry, which the answer names as refused"
    elif Fault.BAD_GATEWAY in event.faults:
        text = f"{run}: {event.call} happens, and a gateway on the way back answers: {event.outcome}"
    elif Fault.UNREACHED in event.faults:
        text = f"{run}: {event.call} is not sent, now and for the rest of this run: the connection is refused"
    elif Fault.THROTTLED in event.faults:
        text = f"{run}: {event.call} is throttled, now and for the rest of this run ({event.outcome})"
    elif Fault.OUTAGE in event.faults:
        how = "fails" if event.call.service == HTTP_SERVICE else "is throttled"
        text = f"{run}: {event.call} {how}, now and until nothing is left to deliver ({event.outcome})"
    elif event.outcome:
        text = f"{run}: {event.call} is refused: {event.outcome}"
    else:
        text = f"{run}: {event.call}"
    return Step(at, text, event.place, is_fault)


def _end_steps(at: str, run: int, ending: Ending, answer: str, after: str) -> Iterator[Step]:
    match ending:
        case Ending.RETURNED:
            yield Step(at, f"run {run} returns {_cut(answer)}")
        case Ending.FAILED:
            yield Step(at, f"run {run} fails: {_cut(answer)}; {after}")
        case Ending.TIMED_OUT:
            yield Step(at, f"run {run} sleeps past its timeout and is ended", is_fault=True)
        case Ending.DIED:
            pass
        case _:
            assert_never(ending)


def elapsed(at: Instant) -> str:
    """The time since the message was sent: `+0s`, `+3m`, `+14d 6m`."""
    seconds = (at - START) // SECOND_MS
    words = []
    for unit, length in _UNITS:
        count, seconds = divmod(seconds, length)
        if count:
            words.append(f"{count}{unit}")
    return "+" + (" ".join(words) or "0s")


def _cut(text: str) -> str:
    return text if len(text) <= _ANSWER_CHARS_MAX else text[: _ANSWER_CHARS_MAX - 1] + "…"


def _ordinal(count: int) -> str:
    if count % 100 // 10 != 1 and count % 10 in _ENDINGS and count > len(_ENDINGS):
        return f"{count}{_ENDINGS[count % 10]}"
    return {1: "first", 2: "second", 3: "third"}.get(count, f"{count}th")
