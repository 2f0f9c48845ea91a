"""Which table is the handler's memory, and what its records say while a run goes on.

The ledger is guessed from a run in which nothing goes wrong: it is the first table that is written under a condition,
read before it is written, or written twice under one key. Its writes are bookkeeping and no effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redrive.prove.calls import mapping_of
from redrive.prove.events import Called, Event
from redrive.prove.stage import Stage

_WORD_CHARS_MAX = 40

Records = dict[str, dict[str, str]]
"""The texts in the records of a table, by key and attribute."""


@dataclass(frozen=True, slots=True)
class Status:
    """An attribute that tells how an execution stands: what it says while a run goes on, and when it is done."""

    attribute: str
    running: str
    done: str


def guess_ledger(events: Sequence[Event], key_of: Callable[[Called], str]) -> str | None:
    """The name of the table; None if no table looks like one."""
    touched: dict[str, list[str]] = {}
    suspects = set()
    for event in events:
        if not isinstance(event, Called) or event.call.service != "dynamodb" or not event.call.target:
            continue
        table, key = event.call.target, key_of(event)
        before = touched.setdefault(table, [])
        if event.call.changes:
            is_conditional = "ConditionExpression" in event.call.params or "Expected" in event.call.params
            if is_conditional or key in before or "read" in before:
                suspects.add(table)
        before.append(key if event.call.changes else "read")
    return next((table for table in touched if table in suspects), None)


def records_of(stage: Stage, table: str) -> Records:
    """The records as they are now."""
    schema = stage.call("dynamodb", "DescribeTable", TableName=table)["Table"]["KeySchema"]
    key_names = [element["AttributeName"] for element in schema]
    records: Records = {}
    for item in stage.call("dynamodb", "Scan", TableName=table)["Items"]:
        key = ", ".join(f"{name}={next(iter(item[name].values()))}" for name in key_names)
        records[key] = {
            name: text
            for name, value in item.items()
            if name not in key_names and isinstance(text := mapping_of(value).get("S"), str)
        }
    return records


def status_of(seen: Sequence[Records]) -> Status | None:
    """The attribute that changes from one word to another while the handler runs, from what was seen at each call."""
    if not seen:
        return None
    for key, last in seen[-1].items():
        first = next(records[key] for records in seen if key in records)
        for name, word in first.items():
            done = last.get(name)
            if done is not None and done != word and max(len(done), len(word)) <= _WORD_CHARS_MAX:
                return Status(name, word, done)
    return None


def stuck_records(records: Records, status: Status | None) -> list[str]:
    """The keys of the records that say that a run goes on."""
    if status is None:
        return []
    return sorted(key for key, texts in records.items() if texts.get(status.attribute) == status.running)
