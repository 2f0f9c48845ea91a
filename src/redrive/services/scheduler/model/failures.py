"""The content of the dead letter of an occurrence."""

from __future__ import annotations

from redrive.core.clock import format_instant
from redrive.core.documents import dump_json
from redrive.core.retry import Exhausted, Failed
from redrive.delivery.sources.letters import Letter, attribute, writable
from redrive.delivery.sources.targets import Request
from redrive.languages import letters
from redrive.services.scheduler.model.executions import Execution

INTERNAL_CODE = "AWS.Scheduler.InternalServerError"
INTERNAL_MESSAGE = "Unexpected error occurred while processing the request"

ERROR_MESSAGE_LENGTH_MAX = 1_000
"""How many characters of a target's error message a dead letter quotes. Source: docs/semantics/delivery.md"""


def letter_of(
    execution: Execution, request: Request, failed: Failed, *, exhausted: Exhausted | None, retries: int
) -> Letter:
    """Build the dead letter: the parameters of the failed API call, in the form of a universal target, and the error.

    A permanent failure has no EXHAUSTED_RETRY_CONDITION. If a delivery grew too old before its first attempt, the
    letter says that the failure is redrive's own.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
    """
    code, message = failed.code, failed.message or failed.code
    if code == Exhausted.AGE.value:
        code, message = INTERNAL_CODE, INTERNAL_MESSAGE
    names = letters.SCHEDULER
    values = {
        names.code: code,
        names.message: message[:ERROR_MESSAGE_LENGTH_MAX],
        names.id: execution.execution_id,
        **({names.exhausted: exhausted.value} if exhausted else {}),
        names.truncated: "false",
        names.retries: str(retries),
        names.due_at: format_instant(execution.scheduled_at),
        names.source: execution.schedule_arn,
        names.target: request.universal_arn,
    }
    attributes = {name: attribute(value) for name, value in values.items()}
    return Letter(names, writable(dump_json(request.params)), attributes)
