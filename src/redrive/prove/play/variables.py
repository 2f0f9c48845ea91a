"""The environment variables of the handler's process, and of each of its runs."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.sessions import NEVER
from redrive.delivery.outside.invocation import Invocation
from redrive.invoke.sandbox.variables import function_credentials, function_variables
from redrive.prove.play.asked import ENDPOINT_URL
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.prove.stage.trigger import Trigger

TASK_ROOT = "/var/task"


def process_variables(stage: Stage, trigger: Trigger) -> dict[str, str]:
    """The process's variables: those of the function, with the account's own credentials."""
    function = stage.call("lambda", "GetFunctionConfiguration", FunctionName=trigger.function_name)
    return variables_of(trigger.function_name, function.get("Environment", {}).get("Variables", {}))


def variables_of(function_name: str, own: Mapping[str, str]) -> dict[str, str]:
    """Those of a process in which a function runs, with the function's own."""
    return {
        "AWS_ACCESS_KEY_ID": SCOPE.account, "AWS_SECRET_ACCESS_KEY": "in-process",
        "AWS_DEFAULT_REGION": SCOPE.region, "AWS_REGION": SCOPE.region, "AWS_ENDPOINT_URL": ENDPOINT_URL,
        "AWS_LAMBDA_FUNCTION_NAME": function_name, "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "TZ": ":UTC", **own,
    }  # fmt: skip


def run_variables(stage: Stage, invocation: Invocation) -> dict[str, str]:
    """The variables that the context of a run needs."""
    credentials = function_credentials(stage.issuer, invocation, expires_at=NEVER)
    return function_variables(
        invocation, log_stream="", task_root=TASK_ROOT, endpoint_url=ENDPOINT_URL, credentials=credentials
    )
