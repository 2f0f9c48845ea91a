"""Checks executions of schedules: one for each occurrence, within its retry policy, with the right visible end.

Three sources are compared: the engine's history of attempts, what targets and dead-letter queues received, and the
metrics. This module computes the retry policy itself, without the engine's `decide`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import SECOND_MS, Instant, format_instant, parse_instant
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import DeadLettered, Forgot, Happening, HistoryRead, LeftMessage, Measured, Reached
from redrive.sim.checkers.schedules import Planned
from redrive.store.tables.attempts import AttemptRecord, RunState
from redrive.store.tables.metrics import dimensions_text

TOO_OLD = "MaximumEventAgeInSeconds"
"""The code of an execution that was given up before it could be attempted."""

WAIT_S_MAX = 480
SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class RetriedSchedule:
    """A schedule with a retry policy.

    If it `waits` for a function, an attempt of a crashed node is repeated under the next number. The first attempt has
    no record, although it may have reached the function.
    """

    planned: Planned
    retries_max: int
    age_ms_max: int
    waits: bool = False


@dataclass(frozen=True, slots=True)
class RecordedExecution:
    """The history of one occurrence: its attempts in order, and how it ended."""

    schedule: str
    scheduled_at: Instant
    attempts: Sequence[AttemptRecord]
    end: AttemptRecord

    @property
    def name(self) -> str:
        return f"{self.schedule} of {format_instant(self.scheduled_at)}"

    @property
    def key(self) -> tuple[str, str]:
        """The key by which targets and dead letters identify the execution."""
        return self.schedule, format_instant(self.scheduled_at)

    @property
    def retries(self) -> int:
        """How many retries were made, including those without a record."""
        return max(0, self.end.attempt - (2 if self.end.code == TOO_OLD else 1))

    @property
    def is_delivered(self) -> bool:
        return self.end.state is RunState.DELIVERED

    @property
    def is_dead_lettered(self) -> bool:
        return self.end.state is RunState.DEAD_LETTERED


def executions_of(schedule: str, records: Sequence[AttemptRecord]) -> Iterator[RecordedExecution]:
    """The executions of a schedule. Skips records of occurrences that were left out."""
    by_delivery: dict[str, list[AttemptRecord]] = defaultdict(list)
    for record in records:
        if not _is_left_out(record):
            by_delivery[record.delivery_id].append(record)
    for delivery_id, history in by_delivery.items():
        attempts = [record for record in history if record.code != TOO_OLD]
        yield RecordedExecution(schedule, _scheduled_at(delivery_id), attempts, history[-1])


class Executions:
    """Each instant has one execution, unless it was left out. Each execution's attempts follow the policy."""

    rule = "an execution's attempts stay within its retry policy, and it ends once"

    def __init__(self, alarms: Mapping[str, RetriedSchedule], permanent: Sequence[str]) -> None:
        """`alarms` by name; `permanent` are the codes of errors that are not retried."""
        self._alarms = alarms
        self._permanent = permanent

    def observe(self, happening: Happening) -> None:
        if isinstance(happening, HistoryRead):
            alarm = self._alarms[happening.schedule]
            executions = list(executions_of(happening.schedule, happening.records))
            for execution in executions:
                self._check_numbers(execution, alarm)
                self._check_waits(execution, alarm)
                self._check_end(execution, alarm)
            self._check_instants(alarm, executions, [one for one in happening.records if _is_left_out(one)])

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: the history was observed before."""

    def _check_numbers(self, execution: RecordedExecution, alarm: RetriedSchedule) -> None:
        numbers = [record.attempt for record in execution.attempts]
        expected = sorted(set(numbers)) if alarm.waits else list(range(1, len(numbers) + 1))
        if numbers != expected:
            self._refuse(execution, f"its attempts have the numbers {numbers}")
        told = (*execution.attempts, execution.end)
        ends = [record.verdict for record in told if record.state is not RunState.RETRYING]
        if not ends or len(set(ends)) > 1 or execution.end.next_at is not None:
            self._refuse(execution, f"it ended as {ends}")

    def _check_waits(self, execution: RecordedExecution, alarm: RetriedSchedule) -> None:
        """Not too many attempts, none too late. Each wait doubles, ±10 %, up to eight minutes."""
        attempts = execution.attempts
        if len(attempts) > alarm.retries_max + 1:
            self._refuse(execution, f"it has {len(attempts)} attempts; {alarm.retries_max} retries are allowed")
        last_at = execution.scheduled_at + alarm.age_ms_max
        for number, record in enumerate(attempts, start=1):
            latest_at = record.next_at or 0
            if max(latest_at, 0 if alarm.waits else record.ended_at) > last_at:
                self._refuse(execution, f"attempt {number}, or the one that was to follow, is too late for its age")
            if number < len(attempts):
                self._check_wait(execution, number, record, attempts[number])

    def _check_wait(
        self, execution: RecordedExecution, number: int, record: AttemptRecord, after: AttemptRecord
    ) -> None:
        if record.next_at is None or after.ended_at < record.next_at:
            self._refuse(execution, f"attempt {number + 1} came before {record.next_at}, when it was due")
            return
        wait_ms = record.next_at - record.ended_at
        shortest_ms, longest_ms = _wait_ms(number)
        if not shortest_ms <= wait_ms <= longest_ms:
            self._refuse(execution, f"it was to wait {wait_ms} ms after attempt {number}")

    def _check_end(self, execution: RecordedExecution, alarm: RetriedSchedule) -> None:
        """Given up only for a reason: a permanent error, the last attempt, or its age."""
        end, attempts = execution.end, execution.attempts
        if execution.is_delivered or end.code in self._permanent or len(attempts) == alarm.retries_max + 1:
            return
        last_at = execution.scheduled_at + alarm.age_ms_max
        longest_ms = 0 if end.code == TOO_OLD else _wait_ms(len(attempts))[1]
        if end.ended_at + longest_ms <= last_at:
            self._refuse(execution, f"it was given up after {len(attempts)} attempts at {end.ended_at}, too early")

    def _check_instants(
        self, alarm: RetriedSchedule, executions: Sequence[RecordedExecution], left_out: Sequence[AttemptRecord]
    ) -> None:  # fmt: skip
        planned = alarm.planned
        expected = planned.instants()
        counted = Counter(execution.scheduled_at for execution in executions)
        gaps = [self._gap(alarm, record) for record in left_out]
        for instant in expected:
            allowed = (0,) if any(first <= instant <= last for first, last in gaps) else (1,)
            if counted[instant] not in allowed:
                what = f"{planned.name}, {planned.expression}, has {counted[instant]} executions of "
                raise RuleBroken(self.rule, what + format_instant(instant))
        invented = sorted(counted.keys() - set(expected))
        if invented:
            raise RuleBroken(self.rule, f"{planned.name}, {planned.expression}, has executions of {invented}")

    def _gap(self, alarm: RetriedSchedule, record: AttemptRecord) -> tuple[Instant, Instant]:
        """The first and last instant that were left out. Errors: RuleBroken if they were not late enough for that."""
        first_at = _scheduled_at(record.delivery_id)
        last_at = record.left_out_until
        assert last_at is not None, f"{record} does not say until when"
        late_ms = alarm.planned.interval_ms or alarm.age_ms_max
        if record.ended_at < last_at + late_ms:
            what = f"{alarm.planned.name} left out {format_instant(last_at)}, only {record.ended_at - last_at} ms late"
            raise RuleBroken(self.rule, what)
        return first_at, last_at

    def _refuse(self, execution: RecordedExecution, what: str) -> None:
        raise RuleBroken(self.rule, f"{execution.name}: {what}")


class Ends:
    """A delivered execution is at its target, once, by its last attempt; a dead-lettered one is in its queue, once."""

    rule = "a target or a dead-letter queue has each execution, once"

    def __init__(self, alarms: Mapping[str, RetriedSchedule], *, skew_ms: int = 0) -> None:
        """`skew_ms`: how far a node's clock may be wrong."""
        self._alarms = alarms
        self._skew_ms = skew_ms
        self._reached: dict[tuple[str, str], Reached] = {}
        self._dead_lettered: dict[tuple[str, str], DeadLettered] = {}
        self._executions: list[RecordedExecution] = []

    def observe(self, happening: Happening) -> None:
        match happening:
            case Reached():
                self._reach(happening)
            case DeadLettered(schedule, scheduled_at):
                if (schedule, scheduled_at) in self._dead_lettered:
                    raise RuleBroken(self.rule, f"{happening} is there twice")
                self._dead_lettered[schedule, scheduled_at] = happening
            case HistoryRead(schedule, records):
                self._executions += executions_of(schedule, records)
            case _:
                pass

    def _reach(self, reached: Reached) -> None:
        if reached.at < parse_instant(reached.scheduled_at) - self._skew_ms:
            raise RuleBroken(self.rule, f"{reached} came too early")
        known = self._reached.setdefault((reached.schedule, reached.scheduled_at), reached)
        if (known.id, known.attempt) != (reached.id, reached.attempt) and not self._alarms[reached.schedule].waits:
            raise RuleBroken(self.rule, f"{reached} came beside {known}")

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for execution in self._executions:
            self._compare_target(execution, self._reached.pop(execution.key, None))
            self._compare_letter(execution, self._dead_lettered.pop(execution.key, None))
        strays = [*self._reached.values(), *self._dead_lettered.values()]
        if strays:
            raise RuleBroken(self.rule, f"{strays} belong to no execution")

    def _compare_target(self, execution: RecordedExecution, reached: Reached | None) -> None:
        if self._alarms[execution.schedule].waits:
            return  # The function's error is an answer; an attempt with a lost answer has reached it.
        if (reached is not None) != execution.is_delivered:
            raise RuleBroken(self.rule, f"{execution.name} ended as {execution.end}, its target got {reached}")
        if reached is not None and reached.attempt != len(execution.attempts):
            raise RuleBroken(self.rule, f"{execution.name} was delivered by attempt {reached.attempt}: {execution.end}")

    def _compare_letter(self, execution: RecordedExecution, letter: DeadLettered | None) -> None:
        if (letter is not None) != execution.is_dead_lettered:
            raise RuleBroken(self.rule, f"{execution.name} ended as {execution.end}, its dead letter is {letter}")
        if letter is not None and letter.retries != execution.retries:
            raise RuleBroken(self.rule, f"{letter}, but {execution.name} had {execution.retries} retries")


class Metrics:
    """The metrics count exactly what happened, except what nodes lost in crashes."""

    rule = "metrics count what happened"

    def __init__(self, group: str, *, throttled: Sequence[str], permanent: Sequence[str]) -> None:
        """`group` of the schedules; `throttled`: codes of throttling; `permanent`: codes that are not retried."""
        self._dimensions = dimensions_text({"ScheduleGroup": group})
        self._throttled = throttled
        self._permanent = permanent
        self._happened: Counter[str] = Counter()
        self._forgotten: Counter[str] = Counter()
        self._measured: dict[str, int] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case HistoryRead(schedule, records):
                for execution in executions_of(schedule, records):
                    self._count(execution)
            case Measured(metric, total):
                self._measured[metric] = total
            case Forgot(sums=sums):
                for series, lost in sums.items():
                    if series.watched.dimensions == self._dimensions:
                        self._forgotten[series.name] += round(lost)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for metric, measured in self._measured.items():
            written = self._happened[metric] - self._forgotten[metric]
            if measured != written:
                forgotten = f"{self._forgotten[metric]} were forgotten in crashes"
                raise RuleBroken(self.rule, f"{metric} is {measured}, {self._happened[metric]} happened, {forgotten}")

    def _count(self, execution: RecordedExecution) -> None:
        happened = self._happened
        failed = [record.code for record in execution.attempts if record.code]
        happened["InvocationAttemptCount"] += len(execution.attempts)
        happened["TargetErrorCount"] += len(failed)
        happened["TargetErrorThrottledCount"] += sum(code in self._throttled for code in failed)
        is_exhausted = not execution.is_delivered and execution.end.code not in self._permanent
        happened["InvocationDroppedCount"] += is_exhausted
        happened["InvocationsSentToDeadLetterCount"] += execution.is_dead_lettered
        has_lost_letter = execution.end.state is RunState.DROPPED and execution.end.letter_arn != ""
        happened["InvocationsFailedToBeSentToDeadLetterCount"] += has_lost_letter


METRICS = (
    "InvocationAttemptCount", "TargetErrorCount", "TargetErrorThrottledCount", "InvocationDroppedCount",
    "InvocationsSentToDeadLetterCount", "InvocationsFailedToBeSentToDeadLetterCount",
)  # fmt: skip


def _wait_ms(attempts: int) -> tuple[int, int]:
    """The shortest and the longest wait after this many failed attempts."""
    wait_ms = min(WAIT_S_MAX, 2 ** (attempts - 1)) * SECOND_MS
    return round(wait_ms * (1 - SPREAD)), round(wait_ms * (1 + SPREAD))


def _is_left_out(record: AttemptRecord) -> bool:
    return record.state is RunState.MISSED


def _scheduled_at(delivery_id: str) -> Instant:
    return parse_instant(delivery_id.rpartition("#")[0].rpartition("@")[2])
