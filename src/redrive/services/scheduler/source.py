"""What the delivery worker asks of a schedule's deliveries: the call, how its failure counts, the dead letter."""

from __future__ import annotations

from functools import partial

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
from redrive.services.scheduler.model_executions import Execution, rendered_input
from redrive.services.scheduler.model_failures import (
    classify,
    cut,
    letter_attributes,
    letter_body,
    letter_bytes,
    retries_made,
)
from redrive.services.scheduler.model_targets import (
    Request,
    build_request,
    call_params,
    called_operation,
    queue_url,
    target_region,
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

    def render(self, tx: Transaction, delivery: Delivery) -> Call:
        """The target's API call for this attempt. Errors: AccessDenied (the execution role cannot be assumed)."""
        execution = Execution.of(delivery)
        service, operation = called_operation(execution.target)
        caller = _assume(tx, execution, target_region(execution.target, execution.scope.region))
        return Call(caller, service, operation, lambda: call_params(_request(execution, delivery)))

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
            end = _bury(tx, delivery, outcome, verdict)
        _record(tx, delivery, outcome, end, None)
        schedule = tx.resources.get(Schedule, delivery.scope, name_of_arn(delivery.source_arn))
        if schedule is not None:
            remove_if_completed(tx, delivery.scope, schedule, open_max=1)


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


def _bury(tx: Transaction, delivery: Delivery, failed: Failed, verdict: GiveUp) -> str:
    """Write the dead letter, if the schedule has a queue for it; answers what became of it.

    A letter that cannot be written is lost, as it is in AWS; the record of the attempt says why.
    """
    execution = Execution.of(delivery)
    queue_arn = (execution.target.get("DeadLetterConfig") or {}).get("Arn")
    if queue_arn is None:
        return "dropped: no dead-letter queue"
    try:
        caller = _assume(tx, execution, Arn.parse(queue_arn).region)
        _send_letter(tx, caller, queue_arn, delivery, end=(failed, verdict.exhausted))
    except ServiceError as error:
        _count(tx, delivery, metrics.DEAD_LETTER_FAILED)
        _count(tx, delivery, f"{metrics.DEAD_LETTER_FAILED}_{classify(error).code}")
        return f"dropped: the dead letter to {queue_arn} failed with {error.code}: {error.message}"
    return f"dead-lettered to {queue_arn}"


def _send_letter(
    tx: Transaction, caller: Caller, queue_arn: str, delivery: Delivery, *, end: tuple[Failed, Exhausted | None]
) -> None:
    """Send the dead letter, cut to the queue's MaximumMessageSize if it is longer. Errors: ServiceError."""
    execution = Execution.of(delivery)
    request = _request(execution, delivery)
    failed, exhausted = end
    describe = partial(
        letter_attributes, execution, request, failed, exhausted=exhausted, retries=retries_made(delivery, failed)
    )
    body, attributes = letter_body(request), describe(truncated=False)
    bytes_max = _message_bytes_max(tx, queue_arn)
    is_truncated = letter_bytes(body, attributes) > bytes_max
    if is_truncated:
        attributes = describe(truncated=True)
        body = cut(body, bytes_max - letter_bytes("", attributes))
    params = {"QueueUrl": queue_url(queue_arn), "MessageBody": body, "MessageAttributes": attributes}
    tx.services.call(tx, caller, "sqs", "SendMessage", params)
    _count(tx, delivery, metrics.DEAD_LETTERED)
    if is_truncated:
        _count(tx, delivery, metrics.DEAD_LETTERED_TRUNCATED)


def _message_bytes_max(tx: Transaction, queue_arn: str) -> int:
    """What the queue takes; asked by EventBridge Scheduler itself, so that the role needs no permission for it."""
    arn = Arn.parse(queue_arn)
    scheduler = Caller(Scope(arn.account, arn.region), new_uuid(tx.entropy))
    answer = tx.services.call(
        tx, scheduler, "sqs", "GetQueueAttributes",
        {"QueueUrl": queue_url(queue_arn), "AttributeNames": ["MaximumMessageSize"]},
    )  # fmt: skip
    return int(answer["Attributes"]["MaximumMessageSize"])
