"""Finds the rows that are the handler's memory, and their status while a run is under way.

A row belongs to the ledger if the handler depends on it: the same message comes again after the work is done, the
handler skips something, and it does not skip it once that row alone is deleted. A row that merely was read before it
was written, or was written under a condition, is ordinary work.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.prove.calls.calls import mapping_of, parts_of
from redrive.prove.calls.sorting import LedgerRows
from redrive.prove.effects.contents import facts_of
from redrive.prove.effects.journal import key_told
from redrive.prove.play.events import Called
from redrive.prove.play.faults import Leg
from redrive.prove.play.performance import Moment, Performance

_WORD_CHARS_MAX = 40
_SINCE_EPOCH = re.compile(r"1[6-9]\d{8}(?:\d{3})?(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_REFUSED = "ConditionalCheckFailedException"
CANDIDATES_MAX = 32
"""How many rows are tried, one of each label: a handler depends on few."""

Rows = Mapping[str, Document]
"""The items of a table, by key."""
Records = dict[str, dict[str, str]]
"""The texts in the records of a table, by key and attribute."""


_POWERTOOLS = frozenset({"data", "expiration", "in_progress_expiration", "status", "validation"})
_POWERTOOLS_WORDS = frozenset({"COMPLETED", "EXPIRED", "INPROGRESS"})
"""The attributes of a record of Powertools' idempotency besides its key, and the words of its status.

Source: https://docs.powertools.aws.dev/lambda/python/latest/utilities/idempotency/
"""


@dataclass(frozen=True, slots=True)
class Status:
    """An attribute that holds the status of an execution: its value while a run is under way, and when it is done."""

    attribute: str
    running: str
    done: str


def guess_ledger(performance: Performance, beginning: Moment, left: Mapping[str, Rows]) -> LedgerRows:
    """The ledger of a handler that has left these rows, by table. Errors: as those of its runs."""
    stable = performance.journal.stable
    labels = sorted({(table, stable(key)) for table, rows in left.items() for key in rows})
    rows: dict[str, dict[str, bool]] = {table: {} for table in left}
    present = _written(performance, beginning, left, ("", ""))
    for row in labels[:CANDIDATES_MAX]:
        absent = _written(performance, beginning, left, row)
        kept, redone = ([name for name, about in writes if about != row] for writes in (present, absent))
        rows[row[0]][row[1]] = Counter(kept) < Counter(redone)
    return LedgerRows(rows)


def _written(
    performance: Performance, beginning: Moment, left: Mapping[str, Rows], without: tuple[str, str]
) -> list[tuple[str, tuple[str, str]]]:
    """The writes that a handler asks for if the messages come again after the work, without the rows of one label.

    Each write with the table and the label of its row. A write that its own row's condition refuses is included, but
    not a refused transaction. Only immediate writes are included: later a lease has ended.
    """
    performance.load(beginning)
    journal, stage = performance.journal, performance.stage
    for table, rows in left.items():
        for key, item in rows.items():
            if (table, journal.stable(key)) != without:
                with contextlib.suppress(ServiceError):  # A table that the handler makes itself is not there yet.
                    stage.call("dynamodb", "PutItem", TableName=table, Item=item)
    stage.move_to(stage.now + SECOND_MS)  # So that this is another run, with a request id of its own.
    until = stage.now + performance.trigger.timeout_ms
    events = list(performance.play(Leg()))
    while performance.waiting.is_pending and (
        (stage.next_due() or until) < until or (performance.is_holding and not performance.may_come_between)
    ):
        events += performance.play(Leg())
    return [
        (part.name, (part.target, journal.label_of(part)))
        for event in events
        if isinstance(event, Called) and event.outcome in ("", _REFUSED)
        for part in parts_of(event.call)
        if journal.sorting.role(part, "") is not None or journal.sorting.is_passage(part)
    ]


def _items_of(performance: Performance, table: str) -> Sequence[Document]:
    """The items of a table; none while the handler has not made the table yet."""
    try:
        items: Sequence[Document] = performance.stage.call("dynamodb", "Scan", TableName=table)["Items"]
    except ServiceError:
        return ()
    return items


def rows_of(performance: Performance, table: str) -> Rows:
    """The current items of a table."""
    names = performance.journal.key_names(table)
    return {key_told(item, names): item for item in _items_of(performance, table)}


def records_of(performance: Performance, table: str) -> Records:
    """The current records of a table."""
    names = performance.journal.key_names(table)
    return {
        key: {
            name: text
            for name, value in item.items()
            if name not in names and isinstance(text := mapping_of(value).get("S"), str)
        }
        for key, item in rows_of(performance, table).items()
    }


def is_of_powertools(performance: Performance, table: str, item: Document) -> bool:
    """Whether a row is a record of Powertools' idempotency, which says that something was done, and is no work."""
    attributes = item.keys() - set(performance.journal.key_names(table))
    word = mapping_of(item.get("status")).get("S")
    return {"expiration", "status"} <= attributes <= _POWERTOOLS and word in _POWERTOOLS_WORDS


def has_time(item: Document) -> bool:
    """Whether an attribute of an item is a time since the epoch, such as the end of a lease or an expiry."""
    return any(_SINCE_EPOCH.fullmatch(text) for _, text in facts_of(item))


def status_of(seen: Sequence[Records]) -> Status | None:
    """The attribute that changes from one word to another during a run, found in the states at each call.

    A word that a record says at the end, when nothing has gone wrong, is a state of the work, and says of no run that
    it goes on: a ticket stays `opened` until somebody takes it.
    """
    if not seen:
        return None
    for key, last in seen[-1].items():
        first = next(records[key] for records in seen if key in records)
        for name, word in first.items():
            done = last.get(name)
            is_left = any(texts.get(name) == word for texts in seen[-1].values())
            if done is not None and not is_left and max(len(done), len(word)) <= _WORD_CHARS_MAX:
                return Status(name, word, done)
    return None


def status_in_runs(seen: Sequence[tuple[int, Records]]) -> Status | None:
    """The same, of the states at each call with the number of its run: one run has written both words.

    What one message sets and another one sets anew is the state of a thing, and not of a run.
    """
    status = status_of([records for _, records in seen])
    if status is None:
        return None
    words: dict[int, set[str]] = {}
    known: Records = {}
    for run, records in seen:
        for key, texts in records.items():
            text = texts.get(status.attribute, "")
            if text != known.get(key, {}).get(status.attribute):
                words.setdefault(run, set()).add(text)
        known = records
    return status if any({status.running, status.done} <= written for written in words.values()) else None


def stuck_records(records: Records, status: Status | None) -> list[str]:
    """The keys of the records that say that a run is under way."""
    if status is None:
        return []
    return sorted(key for key, texts in records.items() if texts.get(status.attribute) == status.running)
