"""Why a history broke its rule, recognised by its structure: who wrote which row, who read it, who was refused."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from redrive.core.clock import SECOND_MS
from redrive.prove.calls.batches import can_be_partly_refused
from redrive.prove.calls.calls import HTTP_SERVICE, Call, mapping_of, parts_of
from redrive.prove.calls.tokens import KEY_OF_REQUEST, token_of
from redrive.prove.judge.judge import Rule
from redrive.prove.play.events import Called, DeadLettered, Delivered, Ended, Ending, Shown
from redrive.prove.play.faults import Act, Fault
from redrive.prove.tell.advice.case import READS, REFUSALS, WRITES, Case

RESPONSE_KEY, RESPONSE_ID = "batchItemFailures", "itemIdentifier"
_EPOCH_S_MIN, _EPOCH_S_MAX = 1_600_000_000, 4_000_000_000


class Cause(enum.StrEnum):
    """Why work was repeated, lost, changed or left stuck."""

    UNPROCESSED = "unprocessed entries"
    TOKEN_FORGOTTEN = "token forgotten"
    MISSPELT_RESPONSE = "misspelt response"
    UNREAD_RESPONSE = "response not read"
    MARKED_AFTER = "marked after the effect"
    NOT_REMEMBERED = "effect is not remembered"
    CHECKED_THEN_WRITTEN = "checked, then written"
    READ_MODIFY_WRITE = "read, modify, write"
    DROPPED = "dropped on an error path"
    UNCHECKED_STATUS = "status not checked"
    DELIVERY_KEY = "key of the delivery"
    RANDOM_KEY = "random key"
    RECORD_EXPIRES = "record expires too early"
    NO_LEASE = "claim without a lease"
    OWN_WRITE_REFUSED = "refused by its own write"
    SKIPPED = "returned while another run worked"
    UNRECORDED = "unrecorded"
    DELETED_FIRST = "message deleted first"
    UNCERTAIN = "effect uncertain"
    LETTERS_EXPIRED = "dead letters expired"
    GIVEN_UP = "given up without a dead letter"
    ENDLESS = "never comes to rest"
    FAILS_AGAIN = "fails after its redrive"
    OLDER_OVER_NEWER = "older over newer"
    REMEMBERED = "memory of the environment"
    DIFFERS = "differs from attempt to attempt"


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause, the call at which a change begins, and what the words need."""

    cause: Cause
    at: Called | None = None
    details: Mapping[str, str] = field(default_factory=dict)


def cause_of(case: Case) -> Finding | None:
    """The cause of a broken rule; None if the history does not show which.

    A history goes on in an environment that was used before only where the same in a new one has broken no rule.
    """
    remembered = next((one for one in case.events if isinstance(one, Delivered) and one.remembers), None)
    if remembered is not None:
        details = {"names": ", ".join(remembered.remembers), "run": str(remembered.run), "after": str(remembered.after)}
        return Finding(Cause.REMEMBERED, None, details)
    match case.violation.rule:
        case Rule.ONCE:
            return _first(case, _ONCE)
        case Rule.ALL | Rule.UNSTUCK:
            return _first(case, _ALL)
        case Rule.SAME:
            return _first(case, _SAME)
        case _:
            return None


def _first(case: Case, recognisers: Sequence[Callable[[Case], Finding | None]]) -> Finding | None:
    return next((found for recognise in recognisers if (found := recognise(case)) is not None), None)


def _by_token(case: Case) -> Finding | None:
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


def _by_changing_row(case: Case) -> Finding | None:
    """The repeated item stands under another key in each attempt."""
    keys = {
        row: one for one in case.culprits for part in parts_of(one.call)
        if case.is_about(part) and (row := case.keys(part))
    }  # fmt: skip
    if not case.violation.subject.startswith("item in ") or len(keys) < 2 or len(set(map(case.stable, keys))) > 1:
        return None
    last = list(keys.values())[-1]
    return _changing_key(case, set(keys), last, {"member": "key", "call": str(last.call)})


def _by_changing_record(case: Case) -> Finding | None:
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


def _by_record(case: Case) -> Finding | None:
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


def _marked_after(case: Case) -> Finding | None:
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


def _unrecorded(case: Case) -> Finding | None:
    culprits = case.culprits
    if case.ledger.name is not None or not culprits:
        return None
    return Finding(Cause.UNRECORDED, culprits[-1], {"call": str(culprits[-1].call)})


def _read_then_written(case: Case) -> Finding | None:
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


def _unprocessed(case: Case) -> Finding | None:
    refused = [one for one in case.calls if Fault.PARTLY_REFUSED in one.faults and can_be_partly_refused(one.call)]
    if not refused or not case.leaves(refused[-1].call):
        return None
    return Finding(Cause.UNPROCESSED, refused[-1], {"call": str(refused[-1].call)})


def _misspelt(case: Case) -> Finding | None:
    """A run named what failed, under a name that Lambda does not know."""
    for end in case.ends:
        answer = _object(end.answer) if end.ending is Ending.RETURNED else {}
        for name, value in answer.items():
            if name != RESPONSE_KEY and _letters(name).rstrip("s") == _letters(RESPONSE_KEY).rstrip("s") and value:
                at = next((one for one in reversed(case.call_of_run(end.run))), None)
                return Finding(Cause.MISSPELT_RESPONSE, at, {"name": name, "right": RESPONSE_KEY})
    return None


def _unread(case: Case) -> Finding | None:
    """A run named what failed, and the mapping does not read that."""
    if case.function in case.unread:
        for end in case.ends:
            answer = _object(end.answer) if end.ending is Ending.RETURNED else {}
            if answer.get(RESPONSE_KEY):
                return Finding(Cause.UNREAD_RESPONSE, next(iter(reversed(case.call_of_run(end.run))), None))
    return None


def _dropped(case: Case) -> Finding | None:
    """A run returned although a call of it had failed, and no later call of that kind succeeded."""
    if case.violation.rule is not Rule.ALL:
        return None
    for end in case.ends:
        if end.ending is Ending.RETURNED and f'"{RESPONSE_ID}"' not in end.answer:
            calls = case.call_of_run(end.run)
            done = {one.call.name for one in calls if not one.outcome}
            for one in calls:
                if one.outcome not in {"", *REFUSALS} and one.call.name not in done:
                    return Finding(Cause.DROPPED, one, {"call": str(one.call), "error": one.outcome})
    return None


def _unchecked(case: Case) -> Finding | None:
    returned = {end.run for end in case.ends if end.ending is Ending.RETURNED}
    for one in case.calls:
        is_failed = one.call.service == HTTP_SERVICE and one.outcome.startswith("status ")
        if is_failed and one.run in returned:
            return Finding(Cause.UNCHECKED_STATUS, one, {"status": one.outcome})
    return None


def _uncertain(case: Case) -> Finding | None:
    is_uncertain = any("EffectUncertain" in end.answer + end.said for end in case.ends)
    return Finding(Cause.UNCERTAIN) if is_uncertain else None


def _deleted_first(case: Case) -> Finding | None:
    if case.violation.rule is not Rule.ALL:
        return None
    for one in case.calls:
        if one.call.service == "sqs" and one.call.operation.startswith("DeleteMessage") and not one.outcome:
            return Finding(Cause.DELETED_FIRST, one, {"call": str(one.call)})
    return None


def _endless(case: Case) -> Finding | None:
    """What comes again for ever: a run's claim refuses all later ones, or nothing brings it to rest."""
    return (_claimed(case) or Finding(Cause.ENDLESS)) if case.violation.is_endless else None


def _own_write(case: Case) -> Finding | None:
    """A write took effect, its answer was lost, and the client's second try was refused by the first."""
    for one in case.calls:
        if Fault.LOST_AND_RETRIED in one.faults and one.outcome in REFUSALS:
            return Finding(Cause.OWN_WRITE_REFUSED, one, {"call": str(one.call)})
    return None


def _claimed(case: Case) -> Finding | None:
    """A run wrote a row and did not come to the work; a later one met the row, by a read or a refusal, and gave way."""
    written: dict[str, Called] = {}
    for one in case.calls:
        met = set(case.rows(one.call, READS)) | (set(case.rows(one.call)) if one.outcome in REFUSALS else set())
        for row in sorted(met):
            claim = written.get(row)
            if claim is not None and claim.run != one.run:
                if any(isinstance(event, Shown) and event.run == claim.run for event in case.events):
                    return Finding(Cause.SKIPPED, one, {"call": str(claim.call)})
                return Finding(Cause.NO_LEASE, one, {"call": str(claim.call), "table": row.partition("/")[0]})
        if one.times and one.outcome not in REFUSALS:
            written.update(dict.fromkeys(case.rows(one.call), one))
    is_of_status = "#" in case.violation.subject and case.violation.rule is Rule.UNSTUCK
    return Finding(Cause.NO_LEASE, details={"call": "its write"}) if is_of_status else None


def _letters_expired(case: Case) -> Finding | None:
    if case.violation.rule is not Rule.ALL or not case.kind.is_queue or not case.ends:
        return None
    end = case.ends[-1]
    is_left = isinstance(case.events[-1], DeadLettered) or end.ending is Ending.FAILED or RESPONSE_ID in end.answer
    return Finding(Cause.LETTERS_EXPIRED) if is_left else None


def _given_up(case: Case) -> Finding | None:
    """Lambda gave up, and no letter tells of it."""
    is_dead = any(isinstance(event, DeadLettered) for event in case.events)
    is_lost = case.violation.rule is Rule.ALL and not is_dead and bool(case.ends)
    if is_lost and not case.kind.is_queue and case.ends[-1].ending is not Ending.RETURNED:
        return Finding(Cause.GIVEN_UP)
    return None


def _fails_again(case: Case) -> Finding | None:
    if case.violation.rule is not Rule.UNSTUCK or not any(isinstance(event, DeadLettered) for event in case.events):
        return None
    reason = _reason(case.ends[-1]) if case.ends else ""
    return Finding(Cause.FAILS_AGAIN, details={"reason": reason}) if reason else None


def _older(case: Case) -> Finding | None:
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


def _differs(case: Case) -> Finding | None:
    culprits = case.culprits
    if len({one.run for one in culprits} | {end.run for end in case.ends}) < 2 or not culprits:
        return None
    return Finding(Cause.DIFFERS, culprits[-1], {"call": str(culprits[-1].call)})


_ONCE = (
    _by_token, _read_then_written, _by_changing_row, _by_changing_record, _by_record, _marked_after, _unrecorded,
)  # fmt: skip
_ALL = (
    _endless, _unprocessed, _misspelt, _unread, _unchecked, _uncertain, _deleted_first, _dropped, _own_write, _claimed,
    _given_up, _letters_expired, _fails_again,
)  # fmt: skip
_SAME = (_older, _read_then_written, _differs)


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


def _values(part: Call) -> Iterable[object]:
    """The values that a write sets."""
    params = part.params
    return (mapping_of(params.get("Item")) or mapping_of(params.get("ExpressionAttributeValues"))).values()


def _reason(end: Ended) -> str:
    return end.answer if end.ending is Ending.FAILED else end.said


def _item(one: Called) -> str:
    return str(one.call.params.get("Item") or one.call.params.get("ExpressionAttributeValues"))


def _object(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def _duration(seconds: int) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            count = seconds // length
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"
