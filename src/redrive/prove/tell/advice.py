"""Advice about lost or stuck work, based on its history."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.prove.judge.judge import Rule, Violation
from redrive.prove.play.events import Called, DeadLettered, Delivered, Ended, Ending, Event, Shown

_REFUSALS = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
"""How a handler learns that a condition does not hold: this is no failure."""
_REPORTED = '"itemIdentifier"'

_LEASE = (
    "Treat a record that says a run goes on as a lease: let it end with the function's timeout, raise while it "
    "lasts so that the message stays in its queue, and take the work over when it is past."
)
_SKIPPED = (
    "A run that finds its work going on elsewhere must fail, not return: the message that it returns from is "
    "deleted, and it may be the only one. Raise while the other run's lease lasts, and take the work over when it "
    "is past."
)
_SWALLOWED = (
    "A run met an error and returned as if all had gone well, so its message was deleted. Let the exception out, or "
    "name the message in batchItemFailures, with FunctionResponseTypes set to ReportBatchItemFailures."
)
_SWALLOWED_EVENT = (
    "A run met an error and returned as if all had gone well: Lambda does not retry. Let the exception out."
)
_DROPPED = (
    "Lambda gives up after the retries of an asynchronous invocation, and the event is gone. Give the function a "
    "dead-letter queue (DeadLetterConfig) or a queue as its destination on failure."
)
_SWALLOWED_RECORD = (
    "A run met an error and returned as if all had gone well, so the shard went on behind its records. Let the "
    "exception out, or name the first record that failed in batchItemFailures, with FunctionResponseTypes set to "
    "ReportBatchItemFailures, and stop there."
)
_GIVEN_UP = (
    "The records were given up, and nothing tells of them. Give the mapping a queue as its destination on failure "
    "(DestinationConfig), and read the records again while the stream keeps them."
)
_BLOCKED = (
    "A record that cannot be worked on blocks its shard until the stream drops it. Give the mapping "
    "MaximumRetryAttempts or MaximumRecordAgeInSeconds, BisectBatchOnFunctionError, and a destination on failure."
)
_LEASE_OF_RECORD = (
    "Treat a record that says a run goes on as a lease: let it end with the function's timeout, raise while it lasts "
    "so that the batch comes again, and take the work over when it is past."
)
_LEASE_OF_EVENT = (
    "Treat a record that says a run goes on as a lease: let it end with the function's timeout, raise while it lasts "
    "so that Lambda retries the event, and take the work over when it is past."
)
_UNCERTAIN = (
    "The effect's answer was lost, and nothing tells whether it happened. Give the effect a lookup, or a downstream "
    "that knows its key again for as long as a message can live."
)
_DELETED = (
    "The handler deletes a message before its work is done. Leave that to Lambda, which deletes what the handler "
    "returns from, or do it last."
)
_EXPIRED = (
    "The dead letters were gone before anybody could redrive them: let the dead-letter queue keep them for 14 days "
    "(MessageRetentionPeriod 1209600), since they age from when they were first sent."
)
_ENDLESS = (
    "Let a message that cannot be worked on come to rest: give its queue a dead-letter queue with a "
    "maxReceiveCount, let the handler fail, and do not send the message anew, which begins its count again."
)


def advice_on_loss(violation: Violation, events: Sequence[Event]) -> str:
    """Advice, in a sentence or two, about a history that broke the rules `all` or `unstuck`."""
    if violation.is_endless:
        is_blocked = any(isinstance(one, Delivered) and one.kind.is_stream for one in events)
        return _BLOCKED if is_blocked else _ENDLESS
    ends = [event for event in events if isinstance(event, Ended)]
    kinds = {one.kind for one in events if isinstance(one, Delivered | Ended)}
    if any(kind.is_stream for kind in kinds):
        return _advice_on_records(violation, events, ends)
    if any(kind.is_direct or kind.is_awaited for kind in kinds):
        return _advice_on_events(violation, events, ends)
    if any("EffectUncertain" in end.answer + end.said for end in ends):
        return _UNCERTAIN
    if violation.rule is Rule.ALL and any(_is_swallowed(end, events) for end in ends):
        return _SWALLOWED
    if violation.rule is Rule.ALL and _deletes_its_message(events):
        return _DELETED
    if any(isinstance(event, Shown) for event in events):
        return _SKIPPED
    is_dead = isinstance(events[-1], DeadLettered)
    if violation.rule is Rule.ALL and (is_dead or ends[-1].ending is Ending.FAILED or _REPORTED in ends[-1].answer):
        return _EXPIRED
    reason = ends[-1].answer if ends[-1].ending is Ending.FAILED else ends[-1].said
    if violation.rule is Rule.UNSTUCK and is_dead and reason:
        return f"Mend what the runs after the redrive fail with: {reason}"
    return _LEASE


def _advice_on_events(violation: Violation, events: Sequence[Event], ends: Sequence[Ended]) -> str:
    """Advice for a function that events invoke: it has no queue of its own."""
    if any("EffectUncertain" in end.answer + end.said for end in ends):
        return _UNCERTAIN
    if violation.rule is Rule.ALL and any(_is_swallowed(end, events) for end in ends):
        return _SWALLOWED_EVENT
    is_dead = any(isinstance(event, DeadLettered) for event in events)
    if violation.rule is Rule.ALL and not is_dead and ends and ends[-1].ending is not Ending.RETURNED:
        return _DROPPED
    if violation.rule is Rule.UNSTUCK and is_dead and ends and ends[-1].ending is Ending.FAILED:
        return f"Mend what the runs after the redrive fail with: {ends[-1].answer}"
    return _LEASE_OF_EVENT


def _advice_on_records(violation: Violation, events: Sequence[Event], ends: Sequence[Ended]) -> str:
    """Advice for a function that a stream feeds."""
    if any("EffectUncertain" in end.answer + end.said for end in ends):
        return _UNCERTAIN
    if violation.rule is Rule.ALL and any(_is_swallowed(end, events) for end in ends):
        return _SWALLOWED_RECORD
    is_dead = any(isinstance(event, DeadLettered) for event in events)
    if violation.rule is Rule.ALL and not is_dead and ends and ends[-1].ending is not Ending.RETURNED:
        return _GIVEN_UP
    if violation.rule is Rule.UNSTUCK and is_dead and ends and ends[-1].ending is Ending.FAILED:
        return f"Mend what the runs after the redrive fail with: {ends[-1].answer}"
    return _LEASE_OF_RECORD


def _deletes_its_message(events: Sequence[Event]) -> bool:
    calls = [event.call for event in events if isinstance(event, Called) and not event.outcome]
    return any(call.service == "sqs" and call.operation.startswith("DeleteMessage") for call in calls)


def _is_swallowed(end: Ended, events: Sequence[Event]) -> bool:
    """Whether a run returned successfully although one of its calls failed, and no later call of its kind succeeded."""
    if end.ending is not Ending.RETURNED or _REPORTED in end.answer:
        return False
    calls = [event for event in events if isinstance(event, Called) and event.run == end.run]
    done = {call.call.name for call in calls if not call.outcome}
    return any(call.outcome not in {"", *_REFUSALS} and call.call.name not in done for call in calls)
