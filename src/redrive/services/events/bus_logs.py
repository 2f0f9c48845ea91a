"""Bus logs: what a bus writes about its events, where its LogConfig and a delivery of vended logs ask for records.

A bus without LogConfig costs a look into the cache. The records of a step are written in the transaction of the step.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-logs.html
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from redrive.core.arn import Arn
from redrive.core.clock import parse_instant
from redrive.core.documents import Document
from redrive.core.retry import Failed, FailureKind, Outcome, RetryAt, Verdict
from redrive.core.scope import Scope
from redrive.delivery.history.records import End
from redrive.services.events.calls import input_or_none
from redrive.services.events.limits import MATCHERS_KEPT
from redrive.services.events.model import bus_log
from redrive.services.events.model.bus import BusReference, EventBus
from redrive.services.events.model.bus_log import BusLog, event_details, invocation_id
from redrive.services.events.model.event import Event
from redrive.services.events.model.rule import Rule, name_of_arn
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

_OF_AWS = "aws."
_PROPERTIES = ("SqsParameters", "HttpParameters", "KinesisParameters", "EcsParameters", "BatchParameters")


def log_of(tx: Transaction, bus: BusReference) -> BusLog | None:
    """What is to be written about events of a bus; None if nobody would read it."""
    found = tx.resources.get(EventBus, bus.scope, bus.name)
    if found is None or not found.log_config:
        return None
    levels = bus_log.levels_written(found.log_config)
    if not levels:
        return None
    taken = tx.services.vended_log_types(tx, bus.arn)
    levels = frozenset(level for level in levels if bus_log.log_type(level) in taken)
    if not levels:
        return None
    return BusLog(bus, levels, found.log_config.get("IncludeDetail") == bus_log.FULL, tx.now)


def write_log(tx: Transaction, log: BusLog) -> None:
    """Write the records to those who take them."""
    if log.records:
        tx.services.vend_logs(tx, log.bus.arn, bus_log.STREAM, log.records)


def log_ingested(
    tx: Transaction, bus: BusReference, entries: Sequence[tuple[Document, Document]], events: Sequence[Event],
    request_id: str,
) -> None:  # fmt: skip
    """Tell of the entries of PutEvents for a bus, each with its answer. `events` are those that were accepted."""
    log = log_of(tx, bus)
    if log is None:
        return
    accepted = {event.id: event for event in events}
    for entry, answer in entries:
        event = accepted.get(str(answer.get("EventId")))
        if event is not None:
            log.add(bus_log.INGESTED, _details(event), event_id=event.id, request_id=request_id)
            continue
        if "ErrorMessage" not in answer:
            continue
        said = {"error_message": answer["ErrorMessage"], "aws_service": "events"}
        details = {
            "caller_account_id": bus.scope.account, "source": entry.get("Source"),
            "detail_type": entry.get("DetailType"), "resources": entry.get("Resources", []),
            "event_detail": entry.get("Detail"),
        }  # fmt: skip
        log.add(bus_log.NOT_INGESTED, details, request_id=request_id, error=said)
    write_log(tx, log)


def log_matched(
    tx: Transaction, bus: BusReference, matched: Sequence[tuple[Event, Sequence[Rule]]], promised: Sequence[Delivery]
) -> None:
    """Tell which rules events have matched, and which invocations have to wait.

    An event of AWS that matches nothing leaves no record, unless it is replayed.
    """
    log = log_of(tx, bus)
    if log is None:
        return
    for event, rules in matched:
        if not rules and event.source.startswith(_OF_AWS) and "replay-name" not in event.document:
            continue
        log.add(bus_log.RECEIVED, _details(event), event_id=event.id)
        log.add(bus_log.MATCH_BEGUN, _details(event), event_id=event.id)
        for rule in rules:
            ids = [invocation_id(f"{event.key}/{rule.rule_name}/{target['Id']}") for target in rule.targets]
            details = {
                "rule_arn": rule.arn(bus.scope), "target_arns": [target["Arn"] for target in rule.targets],
                "invocation_ids": ids,
            }  # fmt: skip
            log.add(bus_log.MATCHED, details, event_id=event.id)
        if not rules:
            log.add(bus_log.NOTHING_MATCHED, {}, event_id=event.id)
    for delivery in promised:
        if delivery.due_at > tx.now:
            _add(log, bus_log.DELAYED, delivery, _begun(delivery, 0))
    write_log(tx, log)


def log_delivered_at_once(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Tell of deliveries whose only attempt has succeeded."""
    scopes = {delivery.source_arn: delivery.scope for delivery in deliveries}
    buses = {_bus_of(scope, rule_arn) for rule_arn, scope in scopes.items()}
    logs = {bus: log for bus in buses if (log := log_of(tx, bus)) is not None}
    for delivery in deliveries if logs else ():
        log = logs.get(_bus_of(delivery.scope, delivery.source_arn))
        if log is not None:
            once = delivery._replace(attempts=1)
            _add(log, bus_log.BEGUN, once, _begun(once, 1))
            _add(log, bus_log.ATTEMPT_BEGUN, once, _begun(once, 1))
            _add(log, bus_log.ATTEMPT_SUCCEEDED, once, _attempted(once, "SUCCESS"))
            _add(log, bus_log.SUCCEEDED, once, _ended(tx, once, "SUCCESS", is_success=True))
    for log in logs.values():
        write_log(tx, log)


def log_attempt(tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
    """Tell of an attempt of the delivery worker."""
    log = log_of(tx, _bus_of(delivery.scope, delivery.source_arn))
    if log is None:
        return
    if delivery.attempts == 1:
        _add(log, bus_log.BEGUN, delivery, _begun(delivery, 1))
    _add(log, bus_log.ATTEMPT_BEGUN, delivery, _begun(delivery, delivery.attempts))
    if isinstance(outcome, Failed):
        _add(log, _kind_of(outcome, verdict), delivery, _attempted(delivery, outcome.code), _error(delivery, outcome))
    else:
        _add(log, bus_log.ATTEMPT_SUCCEEDED, delivery, _attempted(delivery, "SUCCESS"))
    write_log(tx, log)


def log_end(tx: Transaction, delivery: Delivery, outcome: Outcome, end: End) -> None:
    """Tell how a delivery has ended, and that a dead letter was written."""
    log = log_of(tx, _bus_of(delivery.scope, delivery.source_arn))
    if log is None:
        return
    if isinstance(outcome, Failed):
        details = _ended(tx, delivery, outcome.code, is_success=False)
        _add(log, bus_log.FAILED, delivery, details, _error(delivery, outcome))
        if end.letter_arn and end.led_to:
            _add(log, bus_log.DEAD_LETTERED, delivery, details)
    else:
        _add(log, bus_log.SUCCEEDED, delivery, _ended(tx, delivery, "SUCCESS", is_success=True))
    write_log(tx, log)


def _add(log: BusLog, message_type: str, delivery: Delivery, details: Document, error: Document | None = None) -> None:
    event_id = delivery.id.split("/", 1)[0]
    log.add(message_type, details, event_id=event_id, invocation_id=invocation_id(delivery.id), error=error)


def _details(event: Event) -> Document:
    return event_details(event, source_time=parse_instant(event.document["time"]))


def _target(delivery: Delivery) -> Document:
    """What each record says of an invocation's target."""
    target = delivery.document["target"]
    return {"rule_arn": delivery.source_arn, "role_arn": target.get("RoleArn"), "target_arn": delivery.target_arn}


def _given(delivery: Delivery) -> Document:
    """The input of the target, and its parameters."""
    target = delivery.document["target"]
    properties = {name: target[name] for name in _PROPERTIES if name in target}
    return {"target_input": input_or_none(delivery, target), "target_properties": str(properties) if properties else ""}


def _begun(delivery: Delivery, attempt: int) -> Document:
    return {**_target(delivery), "attempt_count": attempt, **_given(delivery)}


def _attempted(delivery: Delivery, status: str) -> Document:
    first = "FIRST" if delivery.attempts == 1 else "RETRY"
    return {
        **_target(delivery), "attempt_type": first, "attempt_count": delivery.attempts, "invocation_status": status,
    }  # fmt: skip


def _ended(tx: Transaction, delivery: Delivery, status: str, *, is_success: bool) -> Document:
    took_ms = tx.now - delivery.first_at
    is_first = delivery.attempts == 1
    return {
        **_target(delivery), **_given(delivery), "total_attempts": delivery.attempts, "final_invocation_status": status,
        "ingestion_to_start_latency_ms": took_ms if is_first else None,
        "ingestion_to_complete_latency_ms": took_ms if is_first else None,
        "ingestion_to_success_latency_ms": took_ms if is_success else None,
    }  # fmt: skip


def _error(delivery: Delivery, failed: Failed) -> Document:
    return {"error_message": failed.message or failed.code, "aws_service": Arn.parse(delivery.target_arn).service}


def _kind_of(failed: Failed, verdict: Verdict) -> str:
    """The message type of a failed attempt."""
    if failed.kind is FailureKind.THROTTLED:
        return bus_log.ATTEMPT_THROTTLED
    is_retryable = isinstance(verdict, RetryAt) or failed.kind is FailureKind.TRANSIENT
    return bus_log.ATTEMPT_RETRIED if is_retryable else bus_log.ATTEMPT_REFUSED


@lru_cache(maxsize=MATCHERS_KEPT)
def _bus_of(scope: Scope, rule_arn: str) -> BusReference:
    return BusReference(scope, name_of_arn(rule_arn).rpartition("/")[0])
