"""The words for a cause: what happened, and what to do about it, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.prove.calls.calls import HTTP_SERVICE, SQL_SERVICE
from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import Act
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell import words as triggers
from redrive.prove.tell.advice.case import Case
from redrive.prove.tell.advice.finding import Cause, Finding

_MESSAGE_KEY = "take the key from the message's body, never from its message id, which a duplicate and a redrive change"
_EVENT_KEY = (
    "take a part of its detail as the key, or the id of the event if AWS publishes it; never the request id, which a "
    "duplicate changes"
)
_RECORD_KEY = (
    "take the key from what the record says; its sequence number is the same when it is read again, but not when its "
    "producer puts it a second time; never take the request id"
)
_CHANGE_KEY = "take the record's eventID as the key, or its table's key with a version; never the request id"
_CALL_KEY = "take a part of the event as the key; never the request id, which a second call changes"
_NOTIFICATION_KEY = (
    "take bucket, key, versionId and sequencer of the record as the key; its eventTime and eTag may be those of "
    "another change, and a duplicate changes the request id"
)
_KEYS = {
    Kind.SQS: _MESSAGE_KEY, Kind.EVENTBRIDGE: _EVENT_KEY, Kind.LAMBDA: _CALL_KEY, Kind.KINESIS: _RECORD_KEY,
    Kind.DYNAMODB: _CHANGE_KEY, Kind.S3: _NOTIFICATION_KEY, **triggers.KEYS,
}  # fmt: skip
_OF_MESSAGE = "is the message id or another id of the delivery, and a duplicate or a redrive has another one"
_DELIVERIES = {
    Kind.SQS: _OF_MESSAGE,
    Kind.FIFO: _OF_MESSAGE,
    Kind.KINESIS: "is an id of the delivery, and a record that its producer puts again has another one",
}
_DELIVERY = "is the request id or another id of the delivery, and a second invocation has another one"
_REPUBLISHED = (
    "A producer that gets no answer publishes its event again, under another event id: take the key from the detail, "
    "where the producer says what the event is about, and not from the event's id."
)
_STAYS = {True: "the batch comes again", False: "Lambda retries the event"}

_PLAIN: Mapping[Cause, str] = {
    Cause.UNPROCESSED: "{call} may succeed for a part of its entries and name the others in its answer "
    "(UnprocessedItems, Failed, FailedEntryCount), and nobody reads them here. Ask for those again until none is left, "
    "or raise so that the message comes again.",
    Cause.TOKEN_FORGOTTEN: "{member} is known again for {memory} only, and the same call came later than that. "
    "Record what is done in a table as well, under a key of the message's and with a condition, in the same "
    "transaction where there is one; keep the record longer than a message can live.",
    Cause.MISSPELT_RESPONSE: "The answer names what failed under {name!r}, which Lambda does not know: to Lambda the "
    "whole batch succeeded, and its messages are deleted. The name is {right!r}, a list of objects with "
    "'itemIdentifier'.",
    Cause.UNREAD_RESPONSE: "The answer names in batchItemFailures what failed, and the function's mapping does not "
    "read that: to Lambda the whole batch succeeded, and is not given again. Set the mapping's FunctionResponseTypes "
    "to ReportBatchItemFailures.",
    Cause.MARKED_AFTER: "{call} comes before the mark in {table}, and a run can end between the two: the next one "
    "finds no mark. Marking first would lose it instead. So let the effect carry the key: a conditional write under "
    "it, a deduplication id, an idempotency key, a receiver that knows the key, or redrive.handler.effect with a "
    "lookup.",
    Cause.NOT_REMEMBERED: "The effect happened, and nothing remembers it: the record in {table} says who runs, not "
    "what was done. Make the effect itself carry the key: a conditional write under it, a deduplication id, an "
    "idempotency key, or redrive.handler.effect with a lookup.",
    Cause.CHECKED_THEN_WRITTEN: "Two runs looked for the record in {table} before either had written it. Claim the "
    "execution in {table} with one conditional write before the effect, not with a read and a later write; {key}.",
    Cause.RECORD_EXPIRES: "The record in {table} expires after {lasted}, and the message came again later: a queue "
    "keeps a message for up to 14 days, and a dead-letter queue as long. Let the record outlive both, say 30 days.",
    Cause.OWN_WRITE_REFUSED: "The first try of {call} took effect, its answer was lost, and boto3's second try was "
    "refused by the first: the handler takes its own write for that of another run. Write into the item who claims it "
    "(the request id), ask for the item on a refusal (ReturnValuesOnConditionCheckFailure), and go on if it is "
    "your own.",
    Cause.SKIPPED: "A run that finds its work going on elsewhere must fail, not return: the message that it returns "
    "from is deleted, and it may be the only one. Raise while the other run's lease lasts, and take the work over when "
    "it is past.",
    Cause.DELETED_FIRST: "The handler deletes a message before its work is done. Leave that to Lambda, which deletes "
    "what the handler returns from, or do it last.",
    Cause.UNCERTAIN: "The effect's answer was lost, and nothing tells whether it happened. Give the effect a lookup, "
    "or a downstream that knows its key again for as long as a message can live.",
    Cause.UNCHECKED_STATUS: "A request was answered with {status}, and the run returned as if all had gone well. Check "
    "the status: requests, httpx and aiohttp raise for it only with raise_for_status(). Let the exception out, so that "
    "the work is tried again.",
    Cause.LETTERS_EXPIRED: "The dead letters were gone before anybody could redrive them: let the dead-letter queue "
    "keep them for 14 days (MessageRetentionPeriod 1209600), since they age from when they were first sent.",
    Cause.FAILS_AGAIN: "Mend what the runs after the redrive fail with: {reason}",
    Cause.OLDER_OVER_NEWER: "A record that comes again may come after newer ones that were done: let {call} have a "
    "condition that refuses what is older, such as a version.",
    Cause.DIFFERS: "Each attempt writes something else by {call}: make it of the message alone, and not of how often "
    "it was received, of the time, or of what an earlier attempt has left. What may differ is left out with --ignore "
    "'dynamodb:PutItem:TABLE#ATTRIBUTE'.",
}

_READ_MODIFY_WRITE = (
    "{call} writes what follows from a value that was read before, and no condition ties the two: a second attempt "
    "starts from what the first one has written. Write which message the change is of into the same item, and refuse "
    "it by a condition the second time; {key}."
)
_READ_MODIFY_WRITE_VERSION = (
    "The condition of {call} stops two runs at a time, and not the same message after another: a second attempt reads "
    "the new version, and changes it once more. Write which message the change is of into the same item, and refuse "
    "it by a condition the second time; {key}."
)
_LOST_UPDATE = (
    "{call} writes what follows from a value that was read before, and another message was worked on between the two: "
    "what that one wrote is gone. Let the write have a condition that the item is still what was read (a version, or "
    "the value itself), and read again when it is refused; or let the table count (ADD). A second delivery of one "
    "message has to be refused as well; {key}."
)
_APPENDED = (
    "{call} writes what was read before and something more, so a second attempt adds it again. Write one object for "
    "each message, under a key of the message's, or look whether it is there already and write with IfMatch; {key}."
)
_SWALLOWED = {
    "message": "{call} failed ({error}), and the run returned as if all had gone well, so its message was deleted. Let "
    "the exception out, or name the message in batchItemFailures, with FunctionResponseTypes set to "
    "ReportBatchItemFailures.",
    "event": "{call} failed ({error}), and the run returned as if all had gone well: Lambda does not retry. Let the "
    "exception out.",
    "request": "{call} failed ({error}), and the caller was told that all had gone well: it does not ask again. Answer "
    "with an error (a status of 500 or more), or let the exception out.",
    "record": "{call} failed ({error}), and the run returned as if all had gone well, so the shard went on behind its "
    "records. Let the exception out, or name the first record that failed in batchItemFailures, with "
    "FunctionResponseTypes set to ReportBatchItemFailures, and stop there.",
}
_REMEMBERED = (
    "Lambda gives a run the environment of an earlier one: run {run} still had in {names} what run {after} had left "
    "there, and in a new environment all would have gone well. "
)
_REMEMBERED_AND_LOST = (
    "A note in a module says that work was begun, and not that it is done. Make the note when the work is done, or "
    "take it back where the run fails; what decides whether work is done belongs into a table."
)
_REMEMBERED_AND_USED = (
    "Keep in a module only what is the same for each message, such as clients. Make what belongs to one run inside of "
    "the handler, and read again what others may change, or write it under a condition."
)
_LEASE = (
    "Treat a record that says a run goes on as a lease: let it end with the function's timeout, raise while it lasts "
    "so that {stays}, and take the work over when it is past."
)
_DROPPED_EVENT = (
    "Lambda gives up after the retries of an asynchronous invocation, and the event is gone. Give the function a "
    "dead-letter queue (DeadLetterConfig) or a queue as its destination on failure."
)
_DROPPED_RECORDS = (
    "The records were given up, and nothing tells of them. Give the mapping a queue as its destination on failure "
    "(DestinationConfig), and read the records again while the stream keeps them."
)
_BLOCKED = (
    "A record that cannot be worked on blocks its shard until the stream drops it. Give the mapping "
    "MaximumRetryAttempts or MaximumRecordAgeInSeconds, BisectBatchOnFunctionError, and a destination on failure."
)
_ENDLESS = (
    "Let a message that cannot be worked on come to rest: give its queue a dead-letter queue with a "
    "maxReceiveCount, let the handler fail, and do not send the message anew, which begins its count again."
)
_UNRECORDED = (
    "Nothing remembers that {call} was done. Record each execution under a key, with a condition that refuses the "
    "second one; {key}."
)
_SENT = (
    "Nothing remembers that {call} was done, and a record of it would not be written in the same moment: a run can end "
    "between the two. So let it carry a key of the message's: a deduplication id (a FIFO queue or topic knows it for 5 "
    "minutes), the name of an execution, a key in what is sent that whoever gets it knows again, or "
    "redrive.handler.effect with a lookup; {key}."
)
_TRANSACTED = frozenset({"dynamodb", "effect", "s3", SQL_SERVICE})
"""Services in which a record and the work are one transaction, or which know what was done."""
_KEYLESS = (
    "Send an idempotency key with the request, made of what the message says, where the API knows such keys (often the "
    "header Idempotency-Key); where it knows none, ask it for what is there before the request is sent again."
)
_OTHER_KEY = (
    "Each attempt sends another idempotency key, so the API cannot know the request again: make the key of what the "
    "message says, and not of the time, of chance, or of the message id."
)
_FORGOTTEN_KEY = (
    "The API knows the key again for {hours:g} h, and the request was sent again after that: record what is done in a "
    "table as well, under a key of the message's. If the API remembers longer, say so with key_memory_h in --given."
)


def words_for(finding: Finding, case: Case) -> str:
    """What to do about a cause."""
    details = {**finding.details, "key": _KEYS[case.kind]}
    is_request = finding.at is not None and finding.at.call.service == HTTP_SERVICE
    match finding.cause:
        case Cause.RANDOM_KEY | Cause.DELIVERY_KEY if is_request:
            return _OTHER_KEY
        case Cause.TOKEN_FORGOTTEN if is_request:
            return _FORGOTTEN_KEY.format(hours=float(finding.details["hours"]))
        case Cause.UNRECORDED if is_request:
            return _KEYLESS
        case Cause.UNRECORDED:
            is_sent = finding.at is not None and finding.at.call.service not in _TRANSACTED
            return (_SENT if is_sent else _UNRECORDED).format(**details)
        case Cause.DELIVERY_KEY:
            return _delivery_key(finding, case)
        case Cause.RANDOM_KEY:
            what = f"The {finding.details['member']} of {finding.details['call']} is drawn anew in each attempt"
            return f"{what}, or has the time in it, so that no attempt knows another: {_KEYS[case.kind]}."
        case Cause.READ_MODIFY_WRITE:
            is_object = finding.at is not None and finding.at.call.service == "s3"
            words = _READ_MODIFY_WRITE_VERSION if finding.details.get("condition") else _READ_MODIFY_WRITE
            words = _LOST_UPDATE if finding.details.get("another") else words
            return (_APPENDED if is_object else words).format(**details)
        case Cause.DROPPED:
            noun = "record" if case.kind.is_stream else "message" if case.kind.is_queue else "event"
            noun = "request" if case.kind is Kind.API else noun
            return _SWALLOWED[noun].format(**details)
        case Cause.NO_LEASE:
            stays = "the message stays in its queue" if case.kind.is_queue else _STAYS[case.kind.is_stream]
            return _LEASE.format(stays=stays)
        case Cause.GIVEN_UP:
            return _DROPPED_RECORDS if case.kind.is_stream else _DROPPED_EVENT
        case Cause.REMEMBERED:
            is_lost = case.violation.rule in {Rule.ALL, Rule.UNSTUCK}
            return (_REMEMBERED + (_REMEMBERED_AND_LOST if is_lost else _REMEMBERED_AND_USED)).format(**details)
        case Cause.ENDLESS:
            return _BLOCKED if case.kind.is_stream else _ENDLESS
        case _:
            return _PLAIN[finding.cause].format(**details)


def _delivery_key(finding: Finding, case: Case) -> str:
    if Act.REPUBLISH in case.acts:
        return triggers.REPUBLISHED.get(case.kind, _REPUBLISHED)
    where = f"in {finding.details['table']}" if "table" in finding.details else f"of {finding.details['call']}"
    member = finding.details["member"]
    return f"The {member} {where} {_DELIVERIES.get(case.kind, _DELIVERY)}: {_KEYS[case.kind]}."


def untied(case: Case) -> str:
    """What is said where the cause is not recognised: which two calls are not tied together."""
    struck = [one for one in case.calls if one.faults]
    culprits = case.culprits
    first = next(iter((*struck, *culprits)), None)
    if first is None:
        return "Look at the step after which the effect is missing or there once more."
    candidates = (*culprits, *reversed(case.calls))
    other = next((one for one in candidates if one.call != first.call and one.call.changes), None)
    if other is None:
        return f"Nothing ties {first.call} to its message: a second attempt cannot tell whether it was done."
    return (
        f"Nothing ties {first.call} and {other.call} together: a run can do the one and not the other. Make them one "
        "transaction, or let the later one tell what became of the earlier one."
    )
