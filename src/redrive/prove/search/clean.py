"""Learns from runs without faults what a handler does; histories are judged by that.

the clean run       which rows are its ledger, what it leaves behind, and its contents
a run elsewhere     what differs on another day, with other ids, in a slower process: not compared
a second attempt    after an attempt that died before its first effect: what counts attempts is not compared
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from redrive.core.errors import UserError
from redrive.prove.calls.calls import Call, parts_of
from redrive.prove.calls.sorting import LedgerRows, Role
from redrive.prove.effects.contents import Left, compared
from redrive.prove.effects.journal import ITEM_IN, RECORD_IN
from redrive.prove.effects.versions import versions_in
from redrive.prove.judge.judge import Judge, ProvedWorld, left_of
from redrive.prove.judge.ledger import (
    Records,
    Rows,
    Status,
    guess_ledger,
    is_of_powertools,
    records_of,
    rows_of,
    status_in_runs,
)
from redrive.prove.play.events import Called, Delivered, Ended, Ending, Event
from redrive.prove.play.faults import Fault, Leg, Strike
from redrive.prove.play.performance import Moment, Performance
from redrive.prove.search.draws import NO_DRAWS, Draws
from redrive.prove.search.options import Options
from redrive.prove.search.reasons import failed, left, require_same_order
from redrive.prove.search.unseen import changes_nothing

ELSEWHERE_AFTER_MS = 45 * DAY_MS + 17 * HOUR_MS + 23 * MINUTE_MS + 41 * SECOND_MS
"""How much later the run elsewhere is: another month, weekday, hour, minute and second."""
ELSEWHERE_DELAY_MS = 61 * SECOND_MS
"""How long its messages wait in the queue."""
ELSEWHERE_CALL_MS = 1_009
"""How long each of its calls takes, until half of its timeout has passed."""


@dataclass(frozen=True, slots=True)
class Clean:
    """The judge of histories; a clean run's calls, and what it leaves behind: kinds of effects and their numbers."""

    judge: Judge
    effects: Mapping[str, int]
    calls: Sequence[Call]
    events: Sequence[Event] = ()


def play_clean(
    performance: Performance, after_leg: Callable[[Sequence[Event]], None] = lambda _: None
) -> list[Event]:  # fmt: skip
    """Play on without faults until nothing is left to deliver. Errors: UserError if something fails nevertheless."""
    events: list[Event] = []
    for _ in range(performance.trigger.clean_runs_max):
        played = performance.play(Leg())
        after_leg(played)
        events += played
        for event in events:
            if isinstance(event, Ended) and event.ending is not Ending.RETURNED:
                raise failed(performance, event)
        if not performance.waiting.is_pending:
            break
    if performance.waiting.dead or performance.waiting.is_pending:
        raise left(performance, events)
    return events


def left_elsewhere(performance: Performance) -> Sequence[Left]:
    """What a clean run elsewhere leaves behind: its messages are new and wait in the queue, and its calls are slow.

    Nothing if the handler fails in it: then the handler depends on the time, and what it leaves cannot be compared.
    """
    stage = performance.stage
    stage.move_to(stage.now + ELSEWHERE_DELAY_MS)
    until = stage.now + performance.trigger.timeout_ms // 2

    def pass_time() -> None:
        stage.move_to(min(until, stage.now + ELSEWHERE_CALL_MS))
        performance.surroundings.move_to(stage.now)

    performance.after_call = pass_time
    try:
        play_clean(performance)
    except UserError:
        return ()
    return left_of(performance)


def learn(
    performance: Performance, options: Options, elsewhere: Sequence[Left], world: ProvedWorld, draws: Draws = NO_DRAWS
) -> Clean:
    """Learn from clean runs what to expect, then restore the state at their beginning.

    Errors: UserError if there is no effect.
    """
    beginning = performance.save()
    own = (f"sqs:*:{performance.trigger.queue_name}",) if performance.trigger.kind.is_queue else ()
    sorting = performance.journal.sorting
    performance.journal.sorting = replace(sorting, effects=options.effects, ignored=(*options.ignored, *own))
    events = play_clean(performance)
    rows = {table: rows_of(performance, table) for table in _tables(events)}
    ledger = _given_ledger(options, rows) if options.ledgers else guess_ledger(performance, beginning, rows)
    lesson = _Lesson(performance, options, beginning, elsewhere, world, tuple(rows), draws)
    clean = lesson.learn(ledger)
    require_same_order(_calls_of(events), clean.calls)
    if not clean.effects and ledger.tables and not options.ledgers:
        clean = lesson.learn(LedgerRows())  # The supposed ledger is the work itself.
    if not clean.effects or _is_memory_alone(performance, clean, rows):
        raise changes_nothing(performance, play_clean)
    return clean


def _is_memory_alone(performance: Performance, clean: Clean, left: Mapping[str, Rows]) -> bool:
    """Whether all that is left are records of what was done, and nothing was done."""
    return all(
        kind.startswith(ITEM_IN)
        and all(is_of_powertools(performance, table, item) for item in left.get(table, {}).values())
        for kind in clean.effects
        for table in (kind.removeprefix(ITEM_IN),)
    )


@dataclass(frozen=True, slots=True)
class _Lesson:
    """The setting of the clean runs, once their tables are known."""

    performance: Performance
    options: Options
    beginning: Moment
    elsewhere: Sequence[Left]
    world: ProvedWorld
    tables: Sequence[str]
    draws: Draws

    def learn(self, ledger: LedgerRows) -> Clean:
        """Play a clean run with these rows as the ledger."""
        performance, journal = self.performance, self.performance.journal
        performance.load(self.beginning)
        journal.sorting = replace(journal.sorting, ledger=ledger)
        seen: dict[str, list[tuple[int, Records]]] = {table: [] for table in self.tables}
        performance.after_call = lambda: self._look(seen)
        events = play_clean(performance)
        performance.after_call = lambda: None
        expected, left = journal.counts(), left_of(performance)
        recorded = {one: count for one, count in journal.counts(Role.RECORD).items() if one[0].startswith(RECORD_IN)}
        returned = next((event.answer for event in events if isinstance(event, Ended)), "")
        second = self._left_by_second_attempt(events)
        contents = compared(left, self.elsewhere, second)
        contents = contents.also_varying(compared(left, other, second) for other in self.draws.left)
        contents = contents.without([(f"{ITEM_IN}{table}", name) for table, name in versions_in(_calls_of(events))])
        statuses = {table: status for table in self.tables if (status := status_in_runs(seen[table])) is not None}
        judge = Judge(
            expected=expected,
            recorded=Counter(recorded),
            contents=contents,
            passing=_passing(performance, events),
            ledger=ledger,
            statuses={
                table: status
                for table, status in statuses.items()
                if not contents.varies(f"{ITEM_IN}{table}", status.attribute) and not self._is_given(status)
            },
            answer=journal.stable(returned) if self.options.stable_results else None,
            invariants=self.options.invariants,
            world=self.world,
            drawn=self.draws.ranges,
            polled=_polled(events),
        )
        performance.load(self.beginning)
        kinds: Counter[str] = Counter()
        for (kind, _), count in sorted(expected.items()):
            kinds[kind] += count
        return Clean(judge, dict(kinds), _calls_of(events), tuple(events))

    def _is_given(self, status: Status) -> bool:
        """Whether what comes in says the word: then it is a state of the work, and no status of a run."""
        word = json.dumps(status.running)
        return any(word in text for text in self.performance.trigger.work_texts)

    def _look(self, seen: Mapping[str, list[tuple[int, Records]]]) -> None:
        for table in self.tables:
            seen[table].append((self.performance.runs, records_of(self.performance, table)))

    def _left_by_second_attempt(self, events: Sequence[Event]) -> list[Left]:
        """What a second attempt leaves, after a run that died before its first effect."""
        performance = self.performance
        journal = performance.journal

        def takes_effect(one: Event) -> TypeGuard[Called]:
            return isinstance(one, Called) and bool(one.times) and journal.is_effect(one.call)

        if not any(map(takes_effect, events)):
            return []
        performance.load(self.beginning)
        struck: set[str] = set()
        for _ in range(2 * performance.trigger.clean_runs_max):
            moment = performance.save()
            played = performance.play(Leg())
            first = next(filter(takes_effect, played), None)
            functions = {one.function for one in played if isinstance(one, Delivered)}
            if first is not None and not functions <= struck:  # Each function of a system has a second attempt.
                struck |= functions
                performance.load(moment)
                performance.play(Leg(strikes=(Strike(first.index, Fault.CRASH_BEFORE),)))
            if not performance.waiting.is_pending:
                break
        return left_of(performance)


def require_matches(options: Options, clean: Clean) -> None:
    """Refuse patterns that match no call of the clean run. Errors: UserError, with the existing calls."""
    names = sorted({call.name for call in clean.calls if call.changes})
    for option, patterns in (("--effect", options.effects), ("--ignore", options.ignored)):
        for pattern in patterns:
            if not any(call.matches((pattern.partition("#")[0],)) for call in clean.calls):
                raise UserError(
                    f"{option} {pattern!r} matches no call of a run in which nothing goes wrong.",
                    next_step=f"That run calls {', '.join(names)}.", exit_code=2,
                )  # fmt: skip
    tables = sorted({call.target for call in clean.calls if call.service == "dynamodb"})
    for table in options.ledgers:
        if table not in tables:
            raise UserError(
                f"--ledger {table!r} is no table of a run in which nothing goes wrong.",
                next_step=f"That run calls {', '.join(tables) or 'none'}.", exit_code=2,
            )  # fmt: skip


def _passing(performance: Performance, events: Iterable[Event]) -> frozenset[tuple[str, str]]:
    """The rows that the handler makes and deletes again."""
    rows: dict[str, set[tuple[str, str]]] = {}
    for event in events:
        for part in parts_of(event.call) if isinstance(event, Called) and event.times else ():
            if part.service == "dynamodb":
                rows.setdefault(part.operation, set()).add((part.target, performance.journal.label_of(part)))
    made = rows.get("PutItem", set()) | rows.get("UpdateItem", set())
    return frozenset(made & rows.get("DeleteItem", set()))


def _polled(events: Iterable[Event]) -> frozenset[str]:
    """The queues that the handler itself receives from."""
    return frozenset(
        str(event.call.params.get("QueueUrl"))
        for event in events
        if isinstance(event, Called) and event.call.operation == "ReceiveMessage" and event.times
    )


def _calls_of(events: Iterable[Event]) -> list[Call]:
    return [call for one in events if isinstance(one, Called) for call in (one.call, *parts_of(one.call))]


def _given_ledger(options: Options, left: Mapping[str, Rows]) -> LedgerRows:
    return LedgerRows({table: {"": True} if table in options.ledgers else {} for table in left})


def _tables(events: Iterable[Event]) -> list[str]:
    """The tables that existed when they were called."""
    return sorted(
        {
            part.target
            for event in events
            if isinstance(event, Called) and not event.outcome and event.call.service == "dynamodb"
            for part in parts_of(event.call)
            if part.target
        }
    )
