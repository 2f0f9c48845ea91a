"""Recognises why work was lost or left stuck: by which run failed, returned or gave way, and after what."""

from __future__ import annotations

import re

from redrive.prove.calls.batches import can_be_partly_refused
from redrive.prove.calls.calls import HTTP_SERVICE
from redrive.prove.judge.judge import Rule
from redrive.prove.play.events import Called, DeadLettered, Ended, Ending, Shown
from redrive.prove.play.faults import Fault
from redrive.prove.tell.advice.case import READS, REFUSALS, Case, members_of_text
from redrive.prove.tell.advice.finding import Cause, Finding

RESPONSE_KEY, RESPONSE_ID = "batchItemFailures", "itemIdentifier"


def unprocessed(case: Case) -> Finding | None:
    """A batch was refused in part, and what was refused is missing."""
    refused = [one for one in case.calls if Fault.PARTLY_REFUSED in one.faults and can_be_partly_refused(one.call)]
    if not refused or not case.leaves(refused[-1].call):
        return None
    return Finding(Cause.UNPROCESSED, refused[-1], {"call": str(refused[-1].call)})


def misspelt(case: Case) -> Finding | None:
    """A run named what failed, under a name that Lambda does not know."""
    for end in case.ends:
        answer = members_of_text(end.answer) if end.ending is Ending.RETURNED else {}
        for name, value in answer.items():
            if name != RESPONSE_KEY and _letters(name).rstrip("s") == _letters(RESPONSE_KEY).rstrip("s") and value:
                at = next((one for one in reversed(case.call_of_run(end.run))), None)
                return Finding(Cause.MISSPELT_RESPONSE, at, {"name": name, "right": RESPONSE_KEY})
    return None


def unread(case: Case) -> Finding | None:
    """A run named what failed, and the mapping does not read that."""
    if case.function in case.unread:
        for end in case.ends:
            answer = members_of_text(end.answer) if end.ending is Ending.RETURNED else {}
            if answer.get(RESPONSE_KEY):
                return Finding(Cause.UNREAD_RESPONSE, next(iter(reversed(case.call_of_run(end.run))), None))
    return None


def dropped(case: Case) -> Finding | None:
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


def unchecked(case: Case) -> Finding | None:
    """A request was answered with an error, and its run returned."""
    returned = {end.run for end in case.ends if end.ending is Ending.RETURNED}
    for one in case.calls:
        is_failed = one.call.service == HTTP_SERVICE and one.outcome.startswith("status ")
        if is_failed and one.run in returned:
            return Finding(Cause.UNCHECKED_STATUS, one, {"status": one.outcome})
    return None


def uncertain(case: Case) -> Finding | None:
    """An effect's answer was lost, and nothing tells whether it happened."""
    is_uncertain = any("EffectUncertain" in end.answer + end.said for end in case.ends)
    return Finding(Cause.UNCERTAIN) if is_uncertain else None


def deleted_first(case: Case) -> Finding | None:
    """A run deleted its message, and died before its work was done."""
    if case.violation.rule is not Rule.ALL:
        return None
    for one in case.calls:
        if one.call.service == "sqs" and one.call.operation.startswith("DeleteMessage") and not one.outcome:
            return Finding(Cause.DELETED_FIRST, one, {"call": str(one.call)})
    return None


def endless(case: Case) -> Finding | None:
    """What comes again for ever: a run's claim refuses all later ones, or nothing brings it to rest."""
    return (claimed(case) or Finding(Cause.ENDLESS)) if case.violation.is_endless else None


def own_write(case: Case) -> Finding | None:
    """A write took effect, its answer was lost, and the client's second try was refused by the first."""
    for one in case.calls:
        if Fault.LOST_AND_RETRIED in one.faults and one.outcome in REFUSALS:
            return Finding(Cause.OWN_WRITE_REFUSED, one, {"call": str(one.call)})
    return None


def claimed(case: Case) -> Finding | None:
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


def letters_expired(case: Case) -> Finding | None:
    """What failed last was left, and is gone."""
    if case.violation.rule is not Rule.ALL or not case.kind.is_queue or not case.ends:
        return None
    end = case.ends[-1]
    is_left = isinstance(case.events[-1], DeadLettered) or end.ending is Ending.FAILED or RESPONSE_ID in end.answer
    return Finding(Cause.LETTERS_EXPIRED) if is_left else None


def given_up(case: Case) -> Finding | None:
    """Lambda gave up, and no letter tells of it."""
    is_dead = any(isinstance(event, DeadLettered) for event in case.events)
    is_lost = case.violation.rule is Rule.ALL and not is_dead and bool(case.ends)
    if is_lost and not case.kind.is_queue and case.ends[-1].ending is not Ending.RETURNED:
        return Finding(Cause.GIVEN_UP)
    return None


def fails_again(case: Case) -> Finding | None:
    """Runs after a redrive fail."""
    if case.violation.rule is not Rule.UNSTUCK or not any(isinstance(event, DeadLettered) for event in case.events):
        return None
    reason = _reason(case.ends[-1]) if case.ends else ""
    return Finding(Cause.FAILS_AGAIN, details={"reason": reason}) if reason else None


def _reason(end: Ended) -> str:
    return end.answer if end.ending is Ending.FAILED else end.said


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())
