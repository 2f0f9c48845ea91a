"""What the delivery worker asks of a schedule's deliveries: the call, how its failure counts, the dead letter."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.arn import Arn
from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.entropy import new_uuid
from redrive.core.errors import Bug, ServiceError
from redrive.core.retry import Delivered, Exhausted, Failed, GiveUp, Outcome, RetryAt, Verdict
from redrive.core.scope import Caller, Scope
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.sources import Call
from redrive.services.scheduler import model_metrics as metrics
from redrive.services.scheduler.model import SOURCE, Schedule, group_of_arn, name_of_arn
from redrive.services.scheduler.model_executions import Execution, ExecutionIds, rendered_input
from redrive.services.scheduler.model_failures import (
    classify,
    fit_letter,
    letter_attributes,
    letter_body,
    retries_made,
)
from redrive.services.scheduler.model_targets import (
    Request,
    build_request,
    called_operation,
    find_target,
    queue_url,
)
from redrive.services.scheduler.workers_timers import remove_if_completed
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord
from redrive.store.tables.deliveries import Delivery


class SchedulerSource:
    """Delivers the occurrences of schedules, under their execution roles.

    What a schedule calls is inside the store, so each attempt and what follows from it are one transaction; but for the
    synchronous invocation of a function.
    """

    name = SOURCE
    lease_ms = MINUTE_MS

    def __init__(self, ids: ExecutionIds = ExecutionIds.PER_OCCURRENCE) -> None:
        self._ids = ids

    def render(self, tx: Transaction, delivery: Delivery) -> Call:
        """The target's API call for this attempt. Errors: AccessDenied (the execution role cannot be assumed)."""
        execution = Execution.of(delivery, self._ids)
        service, operation = called_operation(find_target(execution.target["Arn"]))
        caller = _assume(tx, execution, execution.scope.region)
        return Call(caller, service, operation, lambda: call_params(tx, _request(execution, delivery)))

    def failure(self, error: ServiceError) -> Failed:
        """How the target's error counts."""
        return classify(error)

    def outcome(self, result: InvocationResult) -> Outcome:
        """Never called: what a schedule asks for is a call, even if it runs a function. Errors: Bug."""
        raise Bug("a schedule asks for calls, not for invocations")

    def answered(self, tx: Transaction, delivery: Delivery, result: InvocationResult) -> None:
        """Never called, as `outcome`. Errors: Bug."""
        raise Bug("a schedule asks for calls, not for invocations")

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """Count an attempt. Record it if another will follow; the last one is recorded when it is settled."""
        _count(tx, delivery, *metrics.of_attempt(outcome))
        if isinstance(verdict, RetryAt):
            _record(tx, delivery, outcome, "retry", verdict.at)

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> None:
        """Dead-letter what was given up, record how it ended, and remove a schedule whose last occurrence this was."""
        end = "delivered"
        if isinstance(verdict, GiveUp) and isinstance(outcome, Failed):
            if verdict.exhausted is not None:
                _count(tx, delivery, metrics.DROPPED)
            end = _bury(tx, Execution.of(delivery, self._ids), delivery, end=(outcome, verdict.exhausted))
        _record(tx, delivery, outcome, end, None)
        schedule = tx.resources.get(Schedule, delivery.scope, name_of_arn(delivery.source_arn))
        if schedule is not None:
            remove_if_completed(tx, delivery.scope, schedule, open_max=1)


def call_params(tx: Transaction, request: Request) -> Mapping[str, object]:
    """The parameters as the operation takes them.

    Errors: SerializationException (they are not what AWS's model of the operation says); UnknownOperationException.
    """
    return tx.services.read(*called_operation(request), request.params)


def _request(execution: Execution, delivery: Delivery) -> Request:
    return build_request(execution.target, rendered_input(execution, delivery.attempts))


def _assume(tx: Transaction, execution: Execution, region: str) -> Caller:
    return tx.services.assume_role(
        tx, execution.target["RoleArn"], service="scheduler.amazonaws.com", session_name=execution.execution_id,
        region=region, request_id=new_uuid(tx.entropy), source_arn=execution.group_arn,
    )  # fmt: skip


def _count(tx: Transaction, delivery: Delivery, *names: str) -> None:
    tx.metrics.count(metrics.series_of(delivery.scope, group_of_arn(delivery.source_arn), *names), tx.now)


def _record(tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: str, next_at: Instant | None) -> None:
    failed = outcome if isinstance(outcome, Failed) else None
    tx.attempts.record(
        AttemptRecord(
            delivery.id, delivery.source_arn, delivery.attempts, tx.now,
            failed.code if failed else "", failed.message if failed else "", verdict, next_at,
        ),
    )  # fmt: skip


def _bury(tx: Transaction, execution: Execution, delivery: Delivery, *, end: tuple[Failed, Exhausted | None]) -> str:
    """Write the dead letter, if the schedule has a queue for it; answers what became of it.

    A letter that cannot be written is lost, as it is in AWS; the record of the attempt says why.
    """
    queue_arn = (execution.target.get("DeadLetterConfig") or {}).get("Arn")
    if queue_arn is None:
        return "dropped: no dead-letter queue"
    request, (failed, exhausted) = _request(execution, delivery), end
    body = letter_body(request)
    attributes = letter_attributes(
        execution, request, failed, exhausted=exhausted, retries=retries_made(delivery, failed)
    )
    try:
        caller = _assume(tx, execution, Arn.parse(queue_arn).region)
        sent_body, sent_attributes = fit_letter(body, attributes, _message_bytes_max(tx, queue_arn))
        params = {"QueueUrl": queue_url(queue_arn), "MessageBody": sent_body, "MessageAttributes": sent_attributes}
        tx.services.call(tx, caller, "sqs", "SendMessage", params)
    except ServiceError as error:
        _count(tx, delivery, metrics.DEAD_LETTER_FAILED)
        _count(tx, delivery, f"{metrics.DEAD_LETTER_FAILED}_{classify(error).code}")
        return f"dropped: the dead letter to {queue_arn} failed with {error.code}: {error.message}"
    _count(tx, delivery, metrics.DEAD_LETTERED)
    if sent_body != body:
        _count(tx, delivery, metrics.DEAD_LETTERED_TRUNCATED)
    return f"dead-lettered to {queue_arn}"


def _message_bytes_max(tx: Transaction, queue_arn: str) -> int:
    """What the queue takes; asked by EventBridge Scheduler itself, so that the role needs no permission for it."""
    arn = Arn.parse(queue_arn)
    scheduler = Caller(Scope(arn.account, arn.region), new_uuid(tx.entropy))
    answer = tx.services.call(
        tx, scheduler, "sqs", "GetQueueAttributes",
        {"QueueUrl": queue_url(queue_arn), "AttributeNames": ["MaximumMessageSize"]},
    )  # fmt: skip
    return int(answer["Attributes"]["MaximumMessageSize"])
