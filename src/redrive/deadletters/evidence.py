"""What the logs say of letters that hold no error: those of queues, and of functions' dead-letter queues.

A message that was received too often tells nothing of why. Its consumer's log does, if it can be found there:

    the id     an event of the log names the message, the request or the execution, and an error stands in that event
               or in the same invocation
    the time   all errors of the function around the attempts have the same cause

Logs are read an hour at a time, and kept as what they tell of ids and errors. What may not be read is told and is no
evidence.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from botocore.exceptions import ClientError

from redrive.core.clock import HOUR_MS, Instant
from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import usual
from redrive.deadletters.execution_keys import KeySource
from redrive.deadletters.letter import Failure, Letter, Origin
from redrive.deadletters.log_lines import TRACEBACK, read_line
from redrive.deadletters.sources import Client, Source
from redrive.deadletters.targets import FunctionState, Targets, addressee_of

EVENTS_MAX = 50_000
"""The most events that are read of one hour of a function's log."""

TRACEBACK_CHARS_MAX = 20_000
"""How much of a traceback that is written line by line is put together."""

HOURS_KEPT = 400
"""How many hours of logs are kept in memory; then the oldest is forgotten, and read again if it is needed."""


class Certainty(enum.Enum):
    """How an error was found in a log."""

    BY_ID = "the log names it"
    BY_TIME = "all errors of the function then were the same"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The error of a letter, as a log tells it."""

    failure: Failure
    certainty: Certainty
    log_group: str
    request_id: str


@dataclass(slots=True)
class _Hour:
    """What an hour of a log tells."""

    mentions: dict[str, tuple[str, Failure | None]] = field(default_factory=dict)
    """By id: the request in which it was named, and the error in the same event."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """By request: its last error."""


@dataclass(slots=True)
class _Stream:
    """The request that writes into a log stream, and the traceback that is being written line by line."""

    request_id: str = ""
    traceback: str = ""

    def joined(self, message: str) -> str:
        """The message, with what stands before it of the same traceback."""
        if message.rstrip().endswith(TRACEBACK):
            self.traceback = message
        elif self.traceback and len(self.traceback) < TRACEBACK_CHARS_MAX:
            whole = f"{self.traceback.rstrip()}\n{message}"
            self.traceback = whole if message.startswith((" ", "\N{NO-BREAK SPACE}")) else ""
            return whole
        return message


class Logs:
    """Finds the errors of letters in the logs of the functions that do their work."""

    def __init__(self, client: Client, now: Callable[[], Instant], sources: Callable[[], Sequence[Source]]) -> None:
        self._client = client
        self._sources = sources
        self._targets = Targets(client, now)
        self._hours: dict[tuple[str, int], _Hour] = {}
        self.refused: dict[str, str] = {}
        """By log group: why it was not read, or not whole."""

    def evidence(self, letter: Letter) -> Evidence | None:
        """The error of a letter; None if the logs do not tell it."""
        if letter.sent_at is None:
            return None
        target = addressee_of(usual(letter, self._sources), letter)
        if not target.id:
            return None
        for function in self._targets.state(target).functions:
            hours = list(self._around(function, letter))
            found = _by_id(function, letter, hours) or _by_time(function, letter, hours)
            if found is not None:
                return found
        return None

    def refined(self, letter: Letter) -> tuple[Letter, Evidence | None]:
        """The letter with the error that the logs tell, if it holds none itself."""
        if not lacks_error(letter):
            return letter, None
        found = self.evidence(letter)
        if found is None:
            return letter, None
        own, told = letter.failure, found.failure
        failure = replace(own, code=told.code or own.code, message=told.message or own.message, trace=told.trace)
        return replace(letter, failure=failure), found

    def _around(self, function: FunctionState, letter: Letter) -> Iterator[_Hour]:
        """The hours in which the attempts were: of a queue after it was sent, of a function before its letter was."""
        assert letter.sent_at is not None
        first = letter.sent_at // HOUR_MS
        beside = first + 1 if letter.origin is Origin.QUEUE else first - 1
        for number in sorted((first, beside)):
            yield self._hour(function.log_group, number)

    def _hour(self, log_group: str, number: int) -> _Hour:
        key = log_group, number
        if key not in self._hours:
            if len(self._hours) >= HOURS_KEPT:
                del self._hours[next(iter(self._hours))]
            self._hours[key] = self._read(log_group, number * HOUR_MS)
        return self._hours[key]

    def _read(self, log_group: str, start: Instant) -> _Hour:
        hour, streams, read = _Hour(), dict[str, _Stream](), 0
        pages = self._client("logs").get_paginator("filter_log_events")
        try:
            for page in pages.paginate(logGroupName=log_group, startTime=start, endTime=start + HOUR_MS - 1):
                for event in page.get("events", []):
                    stream = streams.setdefault(event["logStreamName"], _Stream())
                    _add(hour, stream, stream.joined(event["message"]))
                read += len(page.get("events", []))
                if read >= EVENTS_MAX:
                    self.refused[log_group] = f"more than {EVENTS_MAX:,} events in an hour: the rest was not read"
                    break
        except ClientError as error:
            self.refused[log_group] = error.response["Error"].get("Message") or str(error)
        return hour


def lacks_error(letter: Letter) -> bool:
    """Whether the letter says nothing of why it failed, or only that it did."""
    failure = letter.failure
    return letter.origin in {Origin.QUEUE, Origin.FUNCTION} and not failure.trace and failure.code in {"", "200"}


def _add(hour: _Hour, stream: _Stream, message: str) -> None:
    line = read_line(message)
    if line.starts:
        stream.request_id = line.request_id
        return
    request_id = line.request_id or stream.request_id
    for named in line.ids:
        hour.mentions[named] = request_id, line.failure
    if line.failure is not None and request_id:
        hour.failures[request_id] = line.failure


def _by_id(function: FunctionState, letter: Letter, hours: Sequence[_Hour]) -> Evidence | None:
    """The last error of an invocation that names the letter."""
    ids = [key.value for key in KeySource().texts(letter)]
    for hour in reversed(hours):
        for named in ids:
            request_id, own = hour.mentions.get(named, (named, None))
            failure = own or hour.failures.get(request_id)
            if failure is not None:
                return Evidence(failure, Certainty.BY_ID, function.log_group, request_id)
    return None


def _by_time(function: FunctionState, letter: Letter, hours: Sequence[_Hour]) -> Evidence | None:
    """The error of the function then, if all its errors have one cause."""
    failures = [(request_id, failure) for hour in hours for request_id, failure in hour.failures.items()]
    causes = {cause_of(replace(letter, failure=failure)) for _, failure in failures}
    if len(causes) != 1:
        return None
    request_id, failure = failures[-1]
    return Evidence(failure, Certainty.BY_TIME, function.log_group, request_id)
