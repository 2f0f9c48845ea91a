"""The deliveries of rules: what each target is called with, and what happens at the end of a delivery."""

from __future__ import annotations

from typing import Protocol

from redrive.core.arn import Arn
from redrive.core.documents import load_json
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, GiveUp, Outcome, Succeeded, Verdict
from redrive.core.scope import Caller
from redrive.delivery.history.records import End, Origin, record_loop
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.sources.call import Call, Inside, Later
from redrive.delivery.sources.letters import Unwritten, Written, retries_made, write_letter
from redrive.delivery.sources.source import Source
from redrive.services.events.bus_logs import log_attempt, log_end
from redrive.services.events.calls import caller_of, input_of, origin_of, service_caller
from redrive.services.events.forwarding import forward
from redrive.services.events.log_targets import write_log
from redrive.services.events.model import metrics
from redrive.services.events.model.failures import HOP_DETECTED, letter_of
from redrive.services.events.model.rule import SOURCE
from redrive.services.events.model.targets import API_DESTINATION, BUS, LOGS, Given, find_kind
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import OUTSIDE, Delivery


class ApiDestinations(Protocol):
    """How deliveries reach API destinations: by HTTP, outside of transactions."""

    def render(self, tx: Transaction, delivery: Delivery, caller: Caller, input: str) -> HttpCall | Later:
        """The request of this attempt, or when to ask again. Errors: ServiceError."""
        ...

    def outcome(self, result: HttpResult) -> Outcome:
        """The outcome for an answer, or for none."""
        ...

    def answered(self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result) -> None:
        """Keep what an answer brings. Called before its outcome is known."""
        ...

    def ended(self, tx: Transaction, delivery: Delivery) -> None:
        """Forget what was kept for a delivery that ends."""
        ...


class EventsSource(Source):
    """Delivers the events that rules have matched, to the targets as they were then."""

    name = SOURCE

    def __init__(self, destinations: ApiDestinations | None = None) -> None:
        """`destinations` sends to API destinations; without it they are refused."""
        self._destinations = destinations

    def render(self, tx: Transaction, delivery: Delivery) -> Call | Inside | Errand | Later:
        """Build this attempt. Errors: AccessDenied (the role cannot be assumed); INVALID_JSON (the input)."""
        target = delivery.document["target"]
        kind = find_kind(delivery.target_arn)
        if kind is None:
            raise ServiceError("ResourceNotFoundException", f"{delivery.target_arn} is no target.")
        if kind.name == BUS:
            return Inside(lambda: forward(tx, delivery, target.get("RoleArn")))
        arn = Arn.parse(delivery.target_arn)
        text = input_of(delivery, target)
        if kind.name == API_DESTINATION:
            if self._destinations is None:
                raise ServiceError("UnknownOperationException", "redrive sends to no API destinations.")
            return self._destinations.render(tx, delivery, caller_of(tx, delivery, target, arn.region), text)
        caller = caller_of(tx, delivery, target, arn.region)
        if kind.name == LOGS:
            return Inside(lambda: write_log(tx, caller, delivery, text))
        call = kind.call
        assert call is not None, f"{kind.name} is called by an operation"
        if "KinesisParameters" in target or kind.service == "kinesis":
            event = load_json(delivery.document["event"])
        else:
            event = {}
        return Call(caller, kind.service, kind.operation, lambda: call(Given(arn, target, text, event)))

    def origin(self, delivery: Delivery) -> Origin:
        """The execution that caused the event; otherwise all deliveries of an event are one execution, its id."""
        return origin_of(delivery)

    def outcome(self, errand: Errand, result: Result) -> Outcome:
        """The outcome of a call of an API destination."""
        if self._destinations is not None and isinstance(result, HttpResult):
            return self._destinations.outcome(result)
        return super().outcome(errand, result)

    def answered(self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result) -> None:
        if self._destinations is not None:
            self._destinations.answered(tx, delivery, errand, result)

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """Count an attempt. The first one that succeeds is counted with the end of its delivery."""
        log_attempt(tx, delivery, outcome, verdict)
        is_first = delivery.attempts == 1
        if is_first and isinstance(outcome, Succeeded):
            return
        if is_first:
            _count(tx, delivery, metrics.START_LATENCY, value=tx.now - delivery.first_at)
        names = [metrics.ATTEMPTS]
        names += [] if is_first else [metrics.RETRIES]
        names += [metrics.SUCCESSFUL_ATTEMPTS] if isinstance(outcome, Succeeded) else []
        _count(tx, delivery, *names)

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Count the end, and write the dead letter of a delivery that was given up."""
        end = self._settled(tx, delivery, outcome, verdict)
        log_end(tx, delivery, outcome, end)
        return end

    def _settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        took_ms = tx.now - delivery.first_at
        if self._destinations is not None and delivery.place == OUTSIDE:
            self._destinations.ended(tx, delivery)
        if isinstance(verdict, Delivered):
            if delivery.attempts == 1:
                _count(tx, delivery, *metrics.DELIVERED_AT_ONCE)
                _count(tx, delivery, *metrics.LATENCIES_AT_ONCE, value=took_ms)
            else:
                _count(tx, delivery, metrics.INVOCATIONS)
                _count(tx, delivery, metrics.COMPLETE_LATENCY, metrics.SUCCESS_LATENCY, value=took_ms)
            return End.of(verdict)
        assert isinstance(outcome, Failed), "what is given up has failed"
        _count(tx, delivery, metrics.INVOCATIONS, metrics.LOOPED if outcome.code == HOP_DETECTED else metrics.FAILED)
        _count(tx, delivery, metrics.COMPLETE_LATENCY, value=took_ms)
        return _bury(tx, delivery, outcome, verdict)

    def followed(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> None:
        """Note on the run of a delivery that its rule's own target has published the event."""
        loops = int(delivery.document.get("loops", 0))
        if loops:
            times = "once" if loops == 1 else f"{loops} times"
            message = f"The event was published by a target of this rule, which has run {times} before it."
            record_loop(tx, delivery, delivery.source_arn, message)


def _bury(tx: Transaction, delivery: Delivery, failed: Failed, verdict: GiveUp) -> End:
    """Write the dead letter, if the target has a queue for it; returns how the delivery ended.

    A letter that cannot be written is lost, as on AWS; the history gives the reason.
    """
    document = delivery.document
    queue_arn = (document["target"].get("DeadLetterConfig") or {}).get("Arn")
    if queue_arn is None:
        return End.dropped("no dead-letter queue")
    letter = letter_of(
        document["event"], failed, rule_arn=delivery.source_arn, target_arn=delivery.target_arn,
        exhausted=verdict.exhausted, retries=retries_made(delivery, failed),
    )  # fmt: skip
    match write_letter(tx, letter, queue_arn, lambda region: service_caller(tx, delivery, region)):
        case Unwritten(error=error):
            _count(tx, delivery, metrics.DEAD_LETTER_FAILED)
            why = f"the dead letter to {queue_arn} failed with {error.code}: {error.message}"
            return End.dropped(why, letter_arn=queue_arn)
        case Written(message_id=message_id):
            _count(tx, delivery, metrics.DEAD_LETTERED)
            return End.dead_lettered(queue_arn, message_id)


def _count(tx: Transaction, delivery: Delivery, *names: str, value: float = 1.0) -> None:
    tx.metrics.count(metrics.of_rule_arn(delivery.scope, delivery.source_arn, *names), tx.now, value)
