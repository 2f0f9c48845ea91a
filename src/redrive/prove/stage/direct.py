"""The function of a template that is invoked asynchronously, with its retries and its dead letters."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.prove.stage.invoked import invoke_config, retention_ms
from redrive.prove.stage.rules import RETRIES_MAX
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind, Trigger


def direct_trigger(stage: Stage, function_name: str, kind: Kind, events: tuple[str, ...]) -> Trigger:
    """Events invoke the function as they are."""
    function = stage.call("lambda", "GetFunctionConfiguration", FunctionName=function_name)
    config = invoke_config(stage, function_name)
    on_failure = config.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    letters = (function.get("DeadLetterConfig", {}).get("TargetArn", ""), on_failure)
    dead_letter_arn = next((str(arn) for arn in letters if ":sqs:" in str(arn)), "")
    return Trigger(
        function_name, "", "", dead_letter_arn, int(function["Timeout"]) * SECOND_MS,
        retention_ms(stage, dead_letter_arn), events, int(config.get("MaximumRetryAttempts", RETRIES_MAX)) + 1, kind,
        events,
    )  # fmt: skip
