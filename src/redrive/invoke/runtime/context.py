"""The `context` argument of a handler, as Lambda's Python runtime gives it.

Source: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace

from redrive.core.clock import Clock, Instant
from redrive.invoke.runtime.handlers import HandlerFault


class LambdaContext:
    """What a handler can learn about its own run. Attributes to read; `get_remaining_time_in_millis` counts down."""

    def __init__(
        self,
        *,
        request_id: str,
        function_arn: str,
        deadline_at: Instant,
        clock: Clock,
        environment: Mapping[str, str],
        client_context: str | None = None,
    ) -> None:
        """`environment` holds the function's variables. Errors: HandlerFault if the client context is not JSON."""
        self.aws_request_id = request_id
        self.invoked_function_arn = function_arn
        self.function_name = environment.get("AWS_LAMBDA_FUNCTION_NAME")
        self.function_version = environment.get("AWS_LAMBDA_FUNCTION_VERSION")
        self.memory_limit_in_mb = environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        self.log_group_name = environment.get("AWS_LAMBDA_LOG_GROUP_NAME")
        self.log_stream_name = environment.get("AWS_LAMBDA_LOG_STREAM_NAME")
        self.tenant_id: str | None = None
        self.identity = SimpleNamespace(cognito_identity_id=None, cognito_identity_pool_id=None)
        self.client_context = _client_context(client_context)
        self._deadline_at = deadline_at
        self._clock = clock

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the timeout ends the run; 0 after that."""
        return max(0, self._deadline_at - self._clock.now())

    def log(self, message: object) -> None:
        """Write to the log without a line end."""
        print(message, end="", flush=True)  # noqa: T201 -- standard output is the log.


def _client_context(text: str | None) -> SimpleNamespace | None:
    if not text:
        return None
    try:
        document = json.loads(text)
    except ValueError as error:
        message = f"Unable to parse Client Context JSON: {error}"
        raise HandlerFault("Runtime.LambdaContextUnmarshalError", message) from error
    if not isinstance(document, dict):
        raise HandlerFault("Runtime.LambdaContextUnmarshalError", "Unable to parse Client Context JSON: not an object")
    client = document.get("client")
    return SimpleNamespace(
        custom=document.get("custom"),
        env=document.get("env"),
        client=SimpleNamespace(**client) if isinstance(client, dict) else None,
    )
