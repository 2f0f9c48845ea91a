"""Recognises why work was done more than once, or left something else: by who wrote which row, and who read it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from redrive.core.clock import SECOND_MS
from redrive.prove.calls.calls import HTTP_SERVICE, mapping_of, parts_of
from redrive.prove.calls.tokens import KEY_OF_REQUEST, token_of
from redrive.prove.judge.judge import Rule
from redrive.prove.play.events import Called
from redrive.prove.play.faults import Act, Fault
from redrive.prove.tell.advice.case import READS, REFUSALS, WRITES, Case
from redrive.prove.tell.advice.finding import Cause, Finding

_EPOCH_S_MIN, _EPOCH_S_MAX = 1_600_000_000, 4_000_000_000


def by_token(case: Case) -> Finding | None:
    """The repeated calls carry idempotency tokens: other ones, or the same one after it was forgotten."""
    culprits = case.culprits
    tokens = [token for one in culprits if (token := token_of(one.call)) is not None]
    if not culprits or len(tokens) < len(culprits):
        return None
    last, texts = culprits[-1], {token.text for token in tokens}
    member = next((name for name, value in last.call.params.items() if value == tokens[-1].text), KEY_OF_REQUEST)
    if last.call.service != HTTP_SERVICE and not case.names(last, member):
        return None
    details = {"member": member, "call": str(last.call)}
    if len(texts) == len(tokens):
        return _changing_key(case, texts, last, details)
    # SQS is served here, so that its memory of five minutes is not in the table of tokens.
    memory_s = 300 if last.call.service == "sqs" else tokens[-1].memory_ms // SECOND_MS
    memory = {"memory": _duration(memory_s), "hours": str(memory_s / 3_600)}
    return Finding(Cause.TOKEN_FORGOTTEN, last, details | memory)


def by_changing_row(case: Case) -> Finding | None:
    """The repeated item stands under another key in each attempt."""
    keys = {
        row: one for one in case.culprits for part in parts_of(one.call)
        if case.is_about(part) and (row := case.keys(part))
    }  # fmt: skip
    if not case.violation.subject.startswith("item in ") or len(keys) < 2 or len(set(map(case.stable, keys))) > 1:
        return None
    last = list(keys.values())[-1]
    return _changing_key(case, set(keys), last, {"member": "key", "call": str(last.call)})


def by_changing_record(case: Case) -> Finding | None:
    """The runs that did the work went by records under other keys each."""
    found = _doers(case)
    if found is None:
        return None
    first, last = found
    before, after = _rows_of_run(case, first.run), _rows_of_run(case, last.run)
    if not before or not after or before & after:
        return None
    at = next(one for one in case.call_of_run(last.run) if case.ledger_rows(one.call))
    return _changing_key(
        case, before | after, at, {"member": "key", "call": str(at.call), "table": str(case.ledger.name)}
    )


def _changing_key(case: Case, keys: set[str], at: Called, details: Mapping[str, str]) -> Finding:
    is_of_delivery = any(one in key for key in keys for one in case.delivery_ids) or Act.REPUBLISH in case.acts
    return Finding(Cause.DELIVERY_KEY if is_of_delivery else Cause.RANDOM_KEY, at, details)


def by_record(case: Case) -> Finding | None:
    """Two runs did the work although they share a record: when was it written, and how long did it last?"""
    found = _doers(case)
    if found is None:
        return None
    first, last = found
    shared = _rows_of_run(case, first.run) & _rows_of_run(case, last.run)
    if not shared:
        return None
    row = min(shared)
    details = {"table": row.partition("/")[0], "call": str(first.call), "record": row.partition("/")[2]}
    written = [one for one in case.call_of_run(first.run) if _writes(case, one, row) and one.index <= first.index]
    expiry = _expiry(case, written, row)
    if expiry is not None and last.at >= expiry * SECOND_MS:
        lasted = expiry - written[-1].at // SECOND_MS
        return Finding(
            Cause.RECORD_EXPIRES, written[-1], details | {"lasted": _duration(lasted), "seconds": str(lasted)}
        )
    if any(one.is_nested for one in (first, last)) and not written:
        return Finding(Cause.CHECKED_THEN_WRITTEN, first, details)
    has_taken = any(
        _writes(case, one, row) and one.index < last.index and one.call.operation in WRITES
        for one in case.call_of_run(last.run)
    )
    later = [one for one in case.calls if _writes(case, one, row) and one.index > last.index]
    if has_taken and written:
        return Finding(Cause.NOT_REMEMBERED, last, details)
    return Finding(Cause.MARKED_AFTER, first, details) if later or not written else None


def marked_after(case: Case) -> Finding | None:
    """The second run reads a row, does the work, and writes the row: the first one ended before it came to that."""
    found = _doers(case)
    if found is None:
        return None
    first, last = found
    calls = case.call_of_run(last.run)
    read = {row for one in calls if one.index < last.index for row in case.rows(one.call, READS)}
    for one in calls:
        marked = sorted(read & set(case.rows(one.call))) if one.index > last.index and one.times else []
        if marked and not case.leaves(one.call):
            return Finding(Cause.MARKED_AFTER, first, {"table": marked[0].partition("/")[0], "call": str(first.call)})
    return None


def unrecorded(case: Case) -> Finding | None:
    """There is no ledger."""
    culprits = case.culprits
    if case.ledger.name is not None or not culprits:
        return None
    return Finding(Cause.UNRECORDED, culprits[-1], {"call": str(culprits[-1].call)})


def read_then_written(case: Case) -> Finding | None:
    """What is written follows from what the same run has read of the same row or object."""
    culprits = case.culprits
    if case.violation.subject.startswith("increase of ") or not culprits:
        return None
    for one in reversed(culprits):
        before = [call for call in case.call_of_run(one.run) if call.index < one.index]
        if any(_reads_it(case, call, one) for call in before):
            has_condition = any("ConditionExpression" in part.params for part in parts_of(one.call))
            is_another = Act.NEXT in case.acts and case.violation.rule is Rule.SAME and not case.faults - {Fault.BESIDE}
            details = {"call": str(one.call), "condition": "yes" if has_condition else ""}
            details |= {"another": "yes"} if is_another else {}
            return Finding(Cause.READ_MODIFY_WRITE, one, details)
    return None


def _reads_it(case: Case, read: Called, write: Called) -> bool:
    if read.call.service == "s3" and write.call.service == "s3":
        names = ("Bucket", "Key")
        is_read = read.call.operation in {"GetObject", "HeadObject"}
        return is_read and all(read.call.params.get(name) == write.call.params.get(name) for name in names)
    rows = set(case.rows(write.call))
    if read.call.operation in {"Query", "Scan"}:
        return read.call.target in {row.partition("/")[0] for row in rows}
    return bool(rows & set(case.rows(read.call, READS)))


def older(case: Case) -> Finding | None:
    """One run writes one row more than once, so that what comes again can overwrite what is newer."""
    for one in reversed(case.culprits):
        rows = set(case.rows(one.call))
        others = [other for other in case.culprits if other is not one and rows & set(case.rows(other.call))]
        is_after_newer = any(_item(other) != _item(one) for other in others)
        is_in_one_run = any(other.run == one.run for other in others) or case.kind.is_stream
        if is_after_newer and is_in_one_run and len(_versions(case)) > 1:
            return Finding(Cause.OLDER_OVER_NEWER, one, {"call": str(one.call)})
    return None


def _versions(case: Case) -> set[str]:
    """What a single run wrote into the rows that the violation is about: more than one is a sequence of states."""
    runs = {one.run for one in case.culprits}
    return max(({_item(one) for one in case.culprits if one.run == run} for run in runs), key=len, default=set())


def differs(case: Case) -> Finding | None:
    """Two attempts have left something else."""
    culprits = case.culprits
    if len({one.run for one in culprits} | {end.run for end in case.ends}) < 2 or not culprits:
        return None
    return Finding(Cause.DIFFERS, culprits[-1], {"call": str(culprits[-1].call)})


def _doers(case: Case) -> tuple[Called, Called] | None:
    """The first and the last call that did the work, in two runs."""
    culprits = case.culprits
    return (culprits[0], culprits[-1]) if culprits and culprits[0].run != culprits[-1].run else None


def _rows_of_run(case: Case, run: int) -> set[str]:
    return {row for one in case.call_of_run(run) for row in case.ledger_rows(one.call)}


def _writes(case: Case, one: Called, row: str) -> bool:
    return bool(one.times) and one.outcome not in REFUSALS and row in set(case.rows(one.call))


def _expiry(case: Case, written: Sequence[Called], row: str) -> int | None:
    """When the record expires, in seconds since the epoch, if a number in it says so."""
    numbers = [
        int(text)
        for one in written
        for part in parts_of(one.call)
        if case.keys(part) == row
        for value in (
            mapping_of(part.params.get("Item")) or mapping_of(part.params.get("ExpressionAttributeValues"))
        ).values()
        if re.fullmatch(r"\d{10}", text := str(mapping_of(value).get("N", "")))
    ]
    later = [number for number in numbers if _EPOCH_S_MIN < number < _EPOCH_S_MAX]
    return max(later, default=None)


def _item(one: Called) -> str:
    return str(one.call.params.get("Item") or one.call.params.get("ExpressionAttributeValues"))


def _duration(seconds: int) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            count = seconds // length
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"
