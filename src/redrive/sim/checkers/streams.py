"""The rules of streams: what is in them, and that functions get all of it, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from redrive.delivery.worker import Attempt
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import (
    Happening,
    LeftMessage,
    Mapped,
    Streamed,
    StreamRead,
    StreamRun,
    Took,
    Unmapped,
    WindowEnded,
)
from redrive.sim.checkers.rules import event_of, name_of
from redrive.sim.checkers.stream_batches import Batch, GivenUp, Reading, StreamReader, given_up, is_too_soon, parts_of


class StreamContents:
    """A stream has each record that was accepted, once, and those of a key in the order of their commits."""

    rule = "a stream has what was accepted, in the order of each key"

    def __init__(self) -> None:
        self._written: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def observe(self, happening: Happening) -> None:
        match happening:
            case Streamed(stream, key, record):
                self._written[stream][key].append(record)
            case StreamRead(stream, records):
                found: dict[str, list[str]] = defaultdict(list)
                for _, _, key, record in records:
                    found[key].append(record)
                self._compare(stream, found)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: streams are compared when they are read."""

    def _compare(self, stream: str, found: Mapping[str, Sequence[str]]) -> None:
        written = self._written[stream]
        for key in {*written, *found}:
            if list(found.get(key, ())) != written.get(key, []):
                what = f"{key} in {stream} was written as {written.get(key)}, and is read as {found.get(key)}"
                raise RuleBroken(self.rule, what)


class RecordsInOrder:
    """A function gets a record after all earlier ones of its key are done, or are in a failure record.

    In the end each record is done, or is in a failure record. A batch is given up when its retries are used up, or its
    records are too old, and not before.
    """

    rule = "records are done in the order of their keys, or given up, and none is skipped"
    given_up_rule = "a batch is given up when its retries or its time are used up"

    def __init__(self, readers: Sequence[StreamReader]) -> None:
        """`readers`: the functions that may be mapped to streams; the sequence may grow."""
        self._readers = readers
        self._written: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._places: dict[tuple[str, str], tuple[str, int]] = {}
        self._numbers: dict[str, dict[str, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
        self._current: dict[str, Reading] = {}
        self._all: list[Reading] = []
        self._attempts: dict[str, tuple[Reading, Batch]] = {}
        self._ran: set[str] = set()

    def observe(self, happening: Happening) -> None:
        match happening:
            case Streamed(stream, key, record):
                records = self._written[stream][key]
                self._places[stream, record] = (key, len(records))
                records.append(record)
            case Mapped(function, is_from_start):
                self._map(function, is_from_start=is_from_start)
            case Unmapped(function):
                self._current.pop(function).is_deleted = True
            case Took(attempts=attempts):
                for attempt in attempts:
                    if name_of(attempt) in self._current:
                        self._begin(attempt, self._current[name_of(attempt)])
            case StreamRun(request_id, done):
                self._ran.add(request_id)
                self._attempts[request_id][0].done.update(done)
            case StreamRead(stream, read):
                for shard, number, _, record in read:
                    self._numbers[stream][shard][int(number)] = record
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        by_spill = {reader.spill: reader for reader in self._readers if reader.spill}
        for message in left:
            if message.queue in by_spill:
                self._give_up(by_spill[message.queue], given_up(message.body))
        for reading in self._all:
            self._judge(reading)

    def _map(self, function: str, *, is_from_start: bool) -> None:
        reader = next(one for one in self._readers if one.function == function)
        written = self._written[reader.stream]
        starts = {} if is_from_start else {key: len(records) for key, records in written.items()}
        self._current[function] = Reading(reader, starts)
        self._all.append(self._current[function])

    def _begin(self, attempt: Attempt, reading: Reading) -> None:
        """A node has begun a batch: what comes before its records in their keys is done, or is given up."""
        stream, records = reading.reader.stream, [parts_of(one) for one in event_of(attempt).get("Records", ())]
        batch = Batch({number: record for _, record, number in records})
        self._attempts[attempt.key] = (reading, batch)
        before: set[str] = set()
        for key, record, _ in records:
            known_key, place = self._places.get((stream, record), ("", 0))
            start = reading.starts.get(key, 0)
            if known_key != key or place < start:
                raise RuleBroken(self.rule, f"{reading.reader.function} got {record} of {key}, which is not for it")
            earlier = self._written[stream][key][start:place]
            reading.owed += [(one, record) for one in earlier if one not in reading.done and one not in before]
            before.add(record)

    def _give_up(self, reader: StreamReader, one: GivenUp) -> None:
        known = self._attempts.get(one.request_id)
        if known is None:
            # Records that were too old before the function was called for them. Other lanes have some of the shard's.
            numbers = self._numbers[reader.stream][one.shard]
            records = Batch(numbers).between(one.first, one.last)
            readings, is_right = [each for each in self._all if each.reader == reader], len(records) >= one.count
        else:
            records = known[1].between(one.first, one.last)
            readings, is_right = [known[0]], len(records) == one.count
        if not is_right:
            raise RuleBroken(self.given_up_rule, f"{one} of {reader.function} is about {records}")
        runs = [batch for key, (of, batch) in self._attempts.items() if key in self._ran and of in readings]
        wrong = is_too_soon(one, reader, runs, records)
        if wrong:
            raise RuleBroken(self.given_up_rule, f"{reader.function} gave up {records} {wrong}")
        for reading in readings:
            reading.given_up.update(records)

    def _judge(self, reading: Reading) -> None:
        reader, ended = reading.reader, reading.done | reading.given_up
        for earlier, later in reading.owed:
            if earlier not in reading.given_up:
                raise RuleBroken(self.rule, f"{reader.function} got {later} before {earlier} was done")
        if reading.is_deleted:
            return
        for key, records in self._written[reader.stream].items():
            skipped = [one for one in records[reading.starts.get(key, 0) :] if one not in ended]
            if skipped:
                raise RuleBroken(self.rule, f"{reader.function} skipped {skipped} of {key}")


class WindowsWhole:
    """The states in which tumbling windows end have each record of the stream, once."""

    rule = "a record is in the state of one window"

    def __init__(self, function: str, stream: str) -> None:
        self._function = function
        self._stream = stream
        self._written: list[str] = []
        self._ended: dict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)

    def observe(self, happening: Happening) -> None:
        match happening:
            case Streamed(stream, _, record) if stream == self._stream:
                self._written.append(record)
            case WindowEnded(function, shard, start, records) if function == self._function:
                self._ended[shard, start].add(tuple(records))  # The last call may come again, with the same state.
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        states = [state for states in self._ended.values() for state in states]
        told = sorted(chain.from_iterable(states))
        if told != sorted(self._written):
            missing = sorted(set(self._written) - set(told))
            twice = sorted({one for one in told if told.count(one) > 1})
            raise RuleBroken(self.rule, f"the windows of {self._function} lack {missing}, and have {twice} twice")
