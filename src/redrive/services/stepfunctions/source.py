"""Tasks that are done outside, as deliveries: what they call, and what their end means for their execution."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.clock import MINUTE_MS
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, FailureKind, GiveUp, Outcome, Succeeded
from redrive.delivery.history.records import Origin
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.sources.call import Call, Later
from redrive.delivery.sources.classify import classify
from redrive.delivery.sources.source import Source
from redrive.services.stepfunctions.calling import SOURCE, answered, refused, role_caller
from redrive.services.stepfunctions.executions import Live, load
from redrive.services.stepfunctions.http_tasks import http_answered, http_call, http_outcome
from redrive.services.stepfunctions.model import tasks
from redrive.services.stepfunctions.model.http_tasks import TIMEOUT_MS
from redrive.services.stepfunctions.model.integrations import names_of, operation_of
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.resources import Kind
from redrive.services.stepfunctions.running import go_on
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Refused(Failed):
    """A refusal, with what the names of errors in state machines are made of."""

    http_status: int = 400
    fault: str = "client"


class StatesSource(Source):
    """Delivers the calls of tasks, under the role of their machine.

    A failure is never tried again here: the machine's Retry decides. An attempt whose node was lost is made again.
    """

    name = SOURCE
    lease_ms = TIMEOUT_MS + MINUTE_MS

    def render(self, tx: Transaction, delivery: Delivery) -> Call | HttpCall | Later:
        """The call of a task. Errors: TaskTimedOut (nobody awaits the task any more); AccessDenied (the role)."""
        found = _awaiting(tx, delivery)
        if found is None:
            raise ServiceError("TaskTimedOut", "The execution does not await this task any more.")
        live, frame = found
        resource = tasks.resource_of(live.progress, frame)
        caller = role_caller(tx, live, str(delivery.document.get("role", "")))
        if resource.kind is Kind.HTTP:
            return http_call(tx, live, caller, delivery.document["params"])
        if resource.kind is Kind.FUNCTION:
            service, operation = "lambda", "Invoke"
        else:
            service, operation = names_of(resource).service, operation_of(resource)
        params = delivery.document["params"]
        return Call(caller, service, operation, lambda: tx.services.read(service, operation, params))

    def origin(self, delivery: Delivery) -> Origin:
        """What has begun the execution of the state machine; else that execution itself."""
        origin = delivery.document.get("origin")
        return Origin(*origin) if origin else Origin(delivery.id.partition("/")[0])

    def outcome(self, errand: Errand, result: Result) -> Outcome:
        """The outcome of an HTTP task's call."""
        return http_outcome(result) if isinstance(result, HttpResult) else super().outcome(errand, result)

    def answered(self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result) -> None:
        if isinstance(errand, HttpCall) and isinstance(result, HttpResult):
            http_answered(tx, delivery.document["params"], errand, result)

    def failure(self, error: ServiceError) -> Failed:
        """Every failure ends the delivery."""
        found = classify(error)
        status = error.http_status or (500 if error.fault == "server" else 400)
        return Refused(
            error.code, found.message, FailureKind.PERMANENT, http_status=status, fault=error.fault
        )  # fmt: skip

    def followed(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> None:
        """Hand the answer to the execution, which goes on in this transaction."""
        found = _awaiting(tx, delivery)
        if found is None:
            return
        live, frame = found
        resource = tasks.resource_of(live.progress, frame)
        if resource.kind is Kind.HTTP:
            _http_followed(live, frame, outcome)
        elif isinstance(outcome, Succeeded):
            answered(tx, live, frame, resource, outcome.result, delivery.id)
        else:
            status = outcome.http_status if isinstance(outcome, Refused) else 500
            fault = outcome.fault if isinstance(outcome, Refused) else "server"
            error = ServiceError(outcome.code, outcome.message, http_status=status, fault=fault)
            refused(tx, live, frame, error, delivery.id)
        go_on(tx, live)


def _http_followed(live: Live, frame: Frame, outcome: Outcome) -> None:
    if isinstance(outcome, Succeeded):
        tasks.succeeded(live.progress, frame, outcome.result)
    else:
        tasks.failed(live.progress, frame, outcome.code, outcome.message)


def _awaiting(tx: Transaction, delivery: Delivery) -> tuple[Live, Frame] | None:
    """The execution and the frame that await a task; None if they do not, any more."""
    document = delivery.document
    live = load(tx, document["execution"])
    if live is None or not delivery.id.startswith(f"{live.execution.id}/"):
        return None
    frame = live.progress.position.frames.get(document["frame"])
    if frame is None or frame.mode is not Mode.TASK or frame.task != document["task"] or frame.is_submitted:
        return None
    return live, frame
