"""Runs functions inside this process: for simulation and tests, where time is virtual and a run takes no time.

One thread only: while a function runs, the process's environment variables and standard output belong to the function.
Nested runs (a function that invokes another) are allowed. Not simulated, as they need a process: timeouts, memory
limits, `os._exit`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from redrive.core.clock import Clock, SystemClock
from redrive.core.entropy import Entropy, SystemEntropy
from redrive.core.sessions import NEVER, Issuer, TemporaryCredentials
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.invoke.endings import RESPONSE_BYTES_MAX, Exited, Ran, Reported, log_text_of, payload_of, too_large
from redrive.invoke.runtime import function_time
from redrive.invoke.runtime.archive_modules import TASK_ROOT, ArchiveModules
from redrive.invoke.runtime.context import LambdaContext
from redrive.invoke.runtime.handler_log import RequestFilter, log_handler
from redrive.invoke.runtime.handlers import (
    Handler,
    error_answer,
    error_line,
    json_error_line,
    load_handler,
    run_handler,
)
from redrive.invoke.sandbox.output import Output
from redrive.invoke.sandbox.pool import RESERVED_LIMIT_EXCEEDED
from redrive.invoke.sandbox.unpack import UnusableCode
from redrive.invoke.sandbox.variables import (
    environment_credentials,
    function_variables,
    new_log_stream,
)


@dataclass(slots=True)
class _Environment:
    """The part of an execution environment that remains between runs: its modules, and its handler once loaded."""

    revision: str
    log_stream: str
    credentials: TemporaryCredentials
    modules: ArchiveModules | None
    handler: Handler | None
    session: object = None
    """boto3's default session, which holds the function's credentials."""


class InlineInvoker:
    """An Invoker that calls Python handlers directly: registered callables, or those in the functions' own archives."""

    def __init__(
        self,
        load_code: Callable[[str], bytes],
        *,
        endpoint_url: str,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        issuer: Issuer,
    ) -> None:
        """`clock` is the engine's: it gives the time to functions and to their log lines. Both are real by default.

        `issuer` makes the functions' credentials, which never expire here.
        """
        self._load_code = load_code
        self._endpoint_url = endpoint_url
        self._clock = clock or SystemClock()
        self._issuer = issuer
        self._is_virtual = self._clock.is_virtual
        self._entropy = entropy or SystemEntropy()
        self._registered: dict[str, Handler] = {}
        self._environments: dict[tuple[str, str], _Environment] = {}
        self._running: Counter[str] = Counter()
        self._unreserved = 0

    def register(self, function_name: str, handler: Handler) -> None:
        """Use a callable instead of the code of all functions of that name."""
        self._registered[function_name] = handler

    def invoke(self, invocation: Invocation) -> InvocationResult:
        arn = invocation.unqualified_arn
        if invocation.reserved is not None and self._running[arn] >= invocation.reserved:
            return InvocationResult(InvocationStatus.THROTTLED, error=RESERVED_LIMIT_EXCEEDED)
        self._running[arn] += 1
        self._unreserved += invocation.reserved is None
        try:
            environment, is_new = self._environment(invocation)
            of_function, in_all, unreserved = self._running[arn], self._running.total(), self._unreserved
            ran = self._run(environment, invocation, is_new=is_new)
            return replace(
                ran, concurrent=of_function, concurrent_in_all=in_all, concurrent_unreserved=unreserved
            )  # fmt: skip
        except UnusableCode as error:
            return InvocationResult(InvocationStatus.SERVICE_ERROR, error=str(error))
        finally:
            self._running[arn] -= 1
            self._unreserved -= invocation.reserved is None

    def close(self) -> None:
        """Forget all environments."""
        self._environments.clear()

    def _environment(self, invocation: Invocation) -> tuple[_Environment, bool]:
        """The function's environment, and whether it is new. Errors: UnusableCode."""
        key = (invocation.unqualified_arn, invocation.version)
        environment = self._environments.get(key)
        if environment is not None and environment.revision == invocation.revision:
            return environment, False
        registered = self._registered.get(invocation.function_name)
        code = invocation.code
        layers = [self._load_code(digest) for digest in code.layers]
        modules = ArchiveModules(self._load_code(code.digest), layers) if registered is None else None
        log_stream = new_log_stream(self._clock.now(), invocation.version, self._entropy)
        credentials = environment_credentials(self._issuer, invocation, self._entropy, expires_at=NEVER)
        environment = _Environment(invocation.revision, log_stream, credentials, modules, None)
        self._environments[key] = environment
        return environment, True

    def _run(self, environment: _Environment, invocation: Invocation, *, is_new: bool) -> InvocationResult:
        output = Output(self._clock)
        variables = function_variables(
            invocation, log_stream=environment.log_stream, task_root=TASK_ROOT, endpoint_url=self._endpoint_url,
            credentials=environment.credentials,
        )  # fmt: skip
        time = function_time.at(self._clock.now()) if self._is_virtual else contextlib.nullcontext()
        variables["_X_AMZN_TRACE_ID"] = invocation.trace(self._clock.now())
        with self._surroundings(environment, variables, output, invocation.request_id), time:
            ran = self._call(environment, invocation, variables)
        text = log_text_of(ran, invocation, self._clock.now())
        if text is not None:
            output.note(text)
        if environment.handler is None or isinstance(ran, Exited):
            self._environments.pop((invocation.unqualified_arn, invocation.version), None)
        is_error = not isinstance(ran, Reported) or ran.is_error
        return InvocationResult(
            InvocationStatus.FUNCTION_ERROR if is_error else InvocationStatus.OK,
            payload=payload_of(ran, invocation),
            lines=output.take(),
            log_stream=environment.log_stream,
            init_ms=0.0 if is_new else None,
        )

    def _call(self, environment: _Environment, invocation: Invocation, variables: dict[str, str]) -> Ran:
        """Load the handler if it is not loaded yet, and call it."""
        request_id = ""
        try:
            if environment.handler is None:
                registered = self._registered.get(invocation.function_name)
                environment.handler = registered or load_handler(invocation.code.handler)
            request_id = invocation.request_id
            context = LambdaContext(
                request_id=request_id,
                function_arn=invocation.function_arn,
                deadline_at=self._clock.now() + invocation.timeout_ms,
                clock=self._clock,
                environment=variables,
                client_context=invocation.client_context,
            )
            answer = run_handler(environment.handler, invocation.payload, context, request_id)
        except SystemExit as error:
            return Exited(_exit_reason(error))
        except Exception as error:  # noqa: BLE001 - the function's module may raise any exception.
            answer = error_answer(error, request_id)
        if answer.error_type is not None:
            is_json = variables.get("AWS_LAMBDA_LOG_FORMAT") == "JSON"
            line = json_error_line(answer, self._clock.now()) if is_json else error_line(answer)
            sys.stdout.write(line + "\n")
        if len(answer.payload) > RESPONSE_BYTES_MAX:
            return too_large()
        return Reported(answer.payload, is_error=answer.error_type is not None)

    @contextmanager
    def _surroundings(
        self, environment: _Environment, variables: dict[str, str], output: Output, request_id: str
    ) -> Iterator[None]:
        """Give the process the function's variables, modules, output and log; restore the process's own afterwards."""
        requests = RequestFilter(self._clock)
        requests.request_id = request_id
        writer = io.TextIOWrapper(_Sink(output), "utf-8", "replace", write_through=True)
        handler = log_handler(writer, requests, log_format=variables.get("AWS_LAMBDA_LOG_FORMAT", ""))
        saved = dict(os.environ)
        modules = environment.modules.imported() if environment.modules else contextlib.nullcontext()
        with contextlib.redirect_stdout(writer), contextlib.redirect_stderr(writer), modules:
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                del os.environ[name]
            os.environ.update(variables)
            logging.getLogger().addHandler(handler)
            outside = _exchange_session(environment.session)
            try:
                yield
            finally:
                environment.session = _exchange_session(outside)
                logging.getLogger().removeHandler(handler)
                os.environ.clear()
                os.environ.update(saved)


def _exchange_session(session: object) -> object:
    """Give boto3 another default session; answers the one that it had. None before boto3 is imported."""
    boto3 = sys.modules.get("boto3")
    if boto3 is None:
        return None
    before: object = vars(boto3)["DEFAULT_SESSION"]
    vars(boto3)["DEFAULT_SESSION"] = session
    return before


class _Sink(io.BufferedIOBase):
    """The raw stream below a text stream; writes into an Output."""

    name = "<function output>"

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    # The overridden method takes any buffer, a type that has no name before Python 3.12.
    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        content = bytes(data)
        self._output.feed(content)
        return len(content)


def _exit_reason(error: SystemExit) -> str:
    if error.code is None or error.code == 0:
        return "Runtime exited without providing a reason"
    status = error.code % 256 if isinstance(error.code, int) else 1
    return f"Runtime exited with error: exit status {status}"
