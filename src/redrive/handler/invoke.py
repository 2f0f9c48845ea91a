"""Invokes another Lambda function and waits for its answer, with the retries that are left to the caller.

Lambda does not retry synchronous invocations.
Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-sync.html
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Protocol, cast

from redrive.handler.clock import Clock, Sleep, now_ms, sleep
from redrive.handler.entropy import Random, fraction
from redrive.handler.errors import FunctionFailed
from redrive.handler.failures import Classes, Kind, classify, error_code
from redrive.handler.functions import in_thread
from redrive.handler.retries import DEFAULT_POLICY, RetryPolicy, retry_call
from redrive.handler.signatures import LambdaClient

# Lambda refused before it ran the function; no connection was made.
_NOT_READY_CODES = frozenset(
    {
        "EC2UnexpectedException",
        "ENILimitReachedException",
        "ResourceConflictException",
        "ResourceNotReadyException",
        "SnapStartNotReadyException",
        "SnapStartTimeoutException",
    }
)
_NEVER_REACHED = frozenset({"ConnectTimeoutError", "ConnectionRefusedError", "EndpointConnectionError"})


class _Body(Protocol):
    def read(self) -> bytes: ...


class _Unknown(Exception):
    """The function may have run, and the caller did not say that it may run twice."""


def invoke_lambda(
    client: LambdaClient,
    function_name: str,
    payload: object = None,
    *,
    repeatable: bool = False,
    qualifier: str | None = None,
    policy: RetryPolicy = DEFAULT_POLICY,
    context: object = None,
    clock: Clock = now_ms,
    sleep: Sleep = sleep,
    random: Random = fraction,
) -> object:
    """Invoke a function and return its answer, parsed as JSON.

    Lambda's transient refusals (throttles, functions that are not ready) are retried: the function did not run. If the
    function may have run, a retry follows only if `repeatable`: after a lost answer, an error of the service, the
    function's own error. botocore retries by itself below this; give the client `Config(retries={"total_max_attempts":
    1})` so that only this policy counts, and a `read_timeout` longer than the function's timeout.

    Errors: FunctionFailed if the function raised; TypeError for a payload that is not JSON; botocore's.
    """
    request: dict[str, object] = {"FunctionName": function_name, "InvocationType": "RequestResponse"}
    request["Payload"] = json.dumps(payload).encode()
    if qualifier is not None:
        request["Qualifier"] = qualifier

    def call() -> object:
        try:
            return _answer(function_name, client.invoke(**request))
        except Exception as error:
            if not repeatable and _may_have_run(error, policy.classes):
                raise _Unknown from error
            raise

    if repeatable:
        policy = _with_function_errors(policy)
    try:
        return retry_call(call, policy=policy, context=context, clock=clock, sleep=sleep, random=random)
    except _Unknown as unknown:
        cause = cast("Exception", unknown.__cause__)
        cause.add_note("not tried again: the function may have run, and the call was not said to be repeatable")
        raise cause from None


invoke_lambda_async = in_thread(invoke_lambda)


def _answer(function_name: str, response: object) -> object:
    match response:
        case {"FunctionError": str(kind), "Payload": body}:
            return _raise_failed(function_name, kind, _read(body))
        case {"Payload": body}:
            text = _read(body)
            return json.loads(text) if text else None
        case _:
            return None


def _read(body: object) -> bytes:
    return cast("_Body", body).read()


def _raise_failed(function_name: str, kind: str, text: bytes) -> object:
    try:
        error = json.loads(text)
    except ValueError:
        error = None
    if not isinstance(error, dict):
        error = {"errorMessage": text.decode("utf-8", "replace")}
    trace = tuple(str(line) for line in error.get("stackTrace") or ())
    message = str(error.get("errorMessage", ""))
    raise FunctionFailed(function_name, kind, str(error.get("errorType", "Unknown")), message, trace)


def _may_have_run(error: Exception, classes: Classes | None) -> bool:
    """Whether the function may have run though the call failed: it raised, or the answer was lost or never came."""
    if isinstance(error, FunctionFailed):
        return True
    if classify(error, classes) is not Kind.TRANSIENT:
        return False
    never_reached = any(one.__name__ in _NEVER_REACHED for one in type(error).__mro__)
    return not never_reached and error_code(error) not in _NOT_READY_CODES


def _with_function_errors(policy: RetryPolicy) -> RetryPolicy:
    known = policy.classes or Classes()
    return replace(policy, classes=replace(known, transient=(*known.transient, FunctionFailed)))
