"""The function of a template that a rule of EventBridge invokes, with its retries and its dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import ServiceError, UserError
from redrive.delivery.sources.targets import queue_url
from redrive.prove.stage.rules import RETRIES_MAX, Fed, events_of, inputs_of, sample_event
from redrive.prove.stage.sampled import Sampled, Wanted
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind, Trigger


@dataclass(frozen=True, slots=True)
class _Invoked:
    """A rule's target, and the configuration of its function."""

    fed: Fed
    function: Document

    @property
    def handler(self) -> str:
        return str(self.function["Handler"])


def invoked_trigger(
    stage: Stage, file: Path, handler: str, given: tuple[str, ...] | None, rule: str | None,
    wanted: Callable[[Document], Wanted],
) -> tuple[Trigger, str]:  # fmt: skip
    """The trigger of the function, and the name of its handler. `handler` selects one of several functions.

    `rule` is the name of a rule, and selects one of several. `wanted` says of a function what its event is like.
    The event is rendered as the rule's target asks for. Errors: UserError.
    """
    chosen = _pick(stage, file, handler, rule)
    made = sample_event(chosen.fed, wanted(chosen.function)) if given is None else Sampled("")
    events = (made.text,) if given is None else events_of(given, chosen.fed)
    trigger = invoked_asynchronously(stage, chosen.function, Kind.EVENTBRIDGE, inputs_of(events, chosen.fed))
    return replace(trigger, given=events, guesses=made.guesses), chosen.handler


def invoked_asynchronously(stage: Stage, function: Document, kind: Kind, events: tuple[str, ...]) -> Trigger:
    """The trigger of a function, as ListFunctions tells it, that events invoke asynchronously."""
    name = str(function["FunctionName"])
    config = invoke_config(stage, name)
    on_failure = config.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    letters = (function.get("DeadLetterConfig", {}).get("TargetArn", ""), on_failure)
    dead_letter_arn = next((str(arn) for arn in letters if ":sqs:" in str(arn)), "")
    return Trigger(
        name, "", "", dead_letter_arn, int(function["Timeout"]) * SECOND_MS, retention_ms(stage, dead_letter_arn),
        events, int(config.get("MaximumRetryAttempts", RETRIES_MAX)) + 1, kind,
    )  # fmt: skip


def invoked_handlers(stage: Stage) -> list[str]:
    """The handlers of all functions that rules invoke."""
    return [one.handler for one in _all_invoked(stage)]


def _pick(stage: Stage, file: Path, handler: str, rule: str | None) -> _Invoked:
    """The only function that a rule invokes, or the one with this handler; of several rules of it the first."""
    by_function: dict[str, _Invoked] = {}
    for one in _all_invoked(stage):
        if rule is None or one.fed.rule["Name"] == rule:
            by_function.setdefault(str(one.function["FunctionArn"]), one)
    found = list(by_function.values())
    if not found and rule is not None:
        raise UserError(f"The rule {rule} of the template {file} invokes no function.", exit_code=2)
    if not found:
        raise UserError(f"The template {file} has no rule that invokes a function.", exit_code=2)
    wanted = handler.replace(":", ".")
    named = [one for one in found if wanted and wanted.endswith(one.handler)]
    if len(found) > 1 and len(named) != 1:
        names = ", ".join(sorted(one.handler for one in found))
        raise UserError(
            f"The template {file} has several functions that rules invoke, with the handlers {names}.",
            next_step="Name one of them as module:function.", exit_code=2,
        )  # fmt: skip
    return found[0] if len(found) == 1 else named[0]


def _all_invoked(stage: Stage) -> Iterator[_Invoked]:
    for bus in stage.call("events", "ListEventBuses")["EventBuses"]:
        named = {"EventBusName": bus["Name"]}
        for rule in stage.call("events", "ListRules", **named)["Rules"]:
            for target in stage.call("events", "ListTargetsByRule", Rule=rule["Name"], **named)["Targets"]:
                if ":lambda:" in str(target["Arn"]):
                    function = stage.call("lambda", "GetFunctionConfiguration", FunctionName=target["Arn"])
                    yield _Invoked(Fed(rule, target), function)


def invoke_config(stage: Stage, function_name: str) -> Document:
    """What a function does with events that fail; empty if AWS's defaults hold."""
    try:
        return stage.call("lambda", "GetFunctionEventInvokeConfig", FunctionName=function_name)
    except ServiceError:
        return {}  # It has none, and AWS's defaults hold.


def retention_ms(stage: Stage, dead_letter_arn: str) -> int:
    """How long a queue keeps its messages; 0 without a queue."""
    if not dead_letter_arn:
        return 0
    names = ["MessageRetentionPeriod"]
    asked = {"QueueUrl": queue_url(dead_letter_arn), "AttributeNames": names}
    return int(stage.call("sqs", "GetQueueAttributes", **asked)["Attributes"][names[0]]) * SECOND_MS
