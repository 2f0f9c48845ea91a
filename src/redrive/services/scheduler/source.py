"""The scheduler's part of a delivery: the API call, and what happens at the end of the delivery."""

from __future__ import annotations

from redrive.core.retry import Delivered, Exhausted, Failed, GiveUp, Outcome, Verdict
from redrive.delivery.history.records import End, Origin
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.classify import classify
from redrive.delivery.sources.letters import Unwritten, Written, retries_made, write_letter
from redrive.delivery.sources.roles import RoleSession
from redrive.delivery.sources.source import Source
from redrive.delivery.sources.targets import Request, build_request, find_target, request_call
from redrive.services.scheduler.model import metrics
from redrive.services.scheduler.model.executions import Execution, ExecutionIds, rendered_input
from redrive.services.scheduler.model.failures import letter_of
from redrive.services.scheduler.model.schedule import SOURCE, Schedule, group_of_arn, name_of_arn
from redrive.services.scheduler.timers import remove_if_completed
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


class SchedulerSource(Source):
    """Delivers the occurrences of schedules, under their execution roles.

    Most targets are inside the store, so an attempt and its consequences share one transaction. The exception is the
    synchronous invocation of a function.
    """

    name = SOURCE

    def __init__(self, ids: ExecutionIds = ExecutionIds.PER_OCCURRENCE) -> None:
        self._ids = ids

    def render(self, tx: Transaction, delivery: Delivery) -> Call:
        """Build the target's API call for this attempt. Errors: AccessDenied (the execution role cannot be assumed)."""
        execution = Execution.of(delivery, self._ids)
        kind = find_target(execution.target["Arn"])
        caller = _role_of(execution).caller(tx, execution.scope.region)
        return request_call(tx, kind, caller, lambda: _request(execution, delivery))

    def origin(self, delivery: Delivery) -> Origin:
        """The execution id of the first attempt, also if each attempt has its own id."""
        return Origin(delivery.document["execution_id"])

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """Count an attempt."""
        _count(tx, delivery, *metrics.of_attempt(outcome))

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Dead-letter a delivery that was given up, and delete a schedule after its last occurrence."""
        end = End.of(verdict)
        if isinstance(verdict, GiveUp) and isinstance(outcome, Failed):
            if verdict.exhausted is not None:
                _count(tx, delivery, metrics.DROPPED)
            end = self._bury(tx, delivery, outcome, verdict.exhausted)
        schedule = tx.resources.get(Schedule, delivery.scope, name_of_arn(delivery.source_arn))
        if schedule is not None:
            remove_if_completed(tx, delivery.scope, schedule, open_max=1)
        return end

    def _bury(self, tx: Transaction, delivery: Delivery, failed: Failed, exhausted: Exhausted | None) -> End:
        """Write the dead letter, if the schedule has a queue for it; returns how the delivery ended.

        A letter that cannot be written is lost, as on AWS; the history gives the reason.
        """
        execution = Execution.of(delivery, self._ids)
        queue_arn = (execution.target.get("DeadLetterConfig") or {}).get("Arn")
        if queue_arn is None:
            return End.dropped("no dead-letter queue")
        request, retries = _request(execution, delivery), retries_made(delivery, failed)
        letter = letter_of(execution, request, failed, exhausted=exhausted, retries=retries)
        match write_letter(tx, letter, queue_arn, lambda region: _role_of(execution).caller(tx, region)):
            case Unwritten(error=error):
                _count(tx, delivery, metrics.DEAD_LETTER_FAILED)
                _count(tx, delivery, f"{metrics.DEAD_LETTER_FAILED}_{classify(error).code}")
                why = f"the dead letter to {queue_arn} failed with {error.code}: {error.message}"
                return End.dropped(why, letter_arn=queue_arn)
            case Written(message_id=message_id, is_cut=is_cut):
                _count(tx, delivery, metrics.DEAD_LETTERED)
                if is_cut:
                    _count(tx, delivery, metrics.DEAD_LETTERED_TRUNCATED)
                return End.dead_lettered(queue_arn, message_id)


def _request(execution: Execution, delivery: Delivery) -> Request:
    return build_request(execution.target, rendered_input(execution, delivery.attempts))


def _role_of(execution: Execution) -> RoleSession:
    return RoleSession(
        execution.target["RoleArn"], "scheduler.amazonaws.com", execution.execution_id, execution.group_arn
    )


def _count(tx: Transaction, delivery: Delivery, *names: str) -> None:
    tx.metrics.count(metrics.series_of(delivery.scope, group_of_arn(delivery.source_arn), *names), tx.now)
