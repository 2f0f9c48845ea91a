"""Runs functions in processes of their own; reuses warm processes.

admit ──► take a warm environment, or start a new one ──► run ──► put it back, or end it if it cannot be reused
"""

from __future__ import annotations

import importlib.util
import sysconfig
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.core.clock import MINUTE_MS, SECOND_MS, Clock, Instant, SystemClock, monotonic_ms
from redrive.core.entropy import Entropy
from redrive.core.log import Log, SilentLog
from redrive.core.portable import USES_LINUX
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import (
    Invocation,
    InvocationResult,
    InvocationStatus,
    Provision,
    ResponseStream,
)
from redrive.invoke.endings import Exited, Ran, Ready, Reported, TimedOut, log_text_of, payload_of
from redrive.invoke.provisioned import Provisioned
from redrive.invoke.runtime.api import Event
from redrive.invoke.runtime.node_sdk import NodeSdk
from redrive.invoke.runtime.npm import Npm
from redrive.invoke.runtime.runtimes import NODE, PROVIDED, Runtimes, bootstrap_of
from redrive.invoke.sandbox.environment import Sandbox
from redrive.invoke.sandbox.pool import Pool, PoolKey
from redrive.invoke.sandbox.program import AWS_RUNTIME, OWN_RUNTIME, Program
from redrive.invoke.sandbox.unpack import CodeDirectory, UnusableCode
from redrive.invoke.sandbox.variables import (
    IN_ADVANCE,
    ON_DEMAND,
    credentials_expiry,
    environment_credentials,
    function_variables,
    new_log_stream,
)

INIT_MS_MAX = 10 * SECOND_MS  # https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
IDLE_MS_MAX = 5 * MINUTE_MS
CONCURRENCY_MAX = 100
"""How many runs there are at once, in all; a function gets half of them at most, unless it has reserved concurrency."""
IDLE_MAX = 50
PROVISIONED_MAX = 50
FREEZE_AFTER_MS = 200
CLOSE_WAIT_S = 10.0

NODE_RUNTIME = Path(__file__).parent / "runtime" / "node_runtime.mjs"
OTHER_PYTHON_RUNTIME = Path(__file__).parent / "runtime" / "python_runtime.py"
NODE_HEAP_PART = 0.9
"""The part of a function's memory that Node.js may use for its heap."""

INVALID_ENTRYPOINT = b'{"errorType":"Runtime.InvalidEntrypoint","errorMessage":"RequestId: %s Error: %s"}'
NO_BOOTSTRAP = "Couldn't find valid bootstrap(s): [/var/task/bootstrap /opt/bootstrap]"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many environments may run and be idle at once, and how long loading may take before its second try."""

    concurrency_max: int = CONCURRENCY_MAX
    idle_max: int = IDLE_MAX
    idle_ms_max: float = IDLE_MS_MAX
    provisioned_max: int = PROVISIONED_MAX
    init_ms_max: float = INIT_MS_MAX


class NoBootstrap(Exception):
    """A function of a `provided` runtime has no `bootstrap` program."""


class ProcessInvoker:
    """An Invoker that runs functions in processes, which it talks to through the Lambda Runtime API."""

    def __init__(
        self,
        load_code: Callable[[str], bytes],
        workdir: Path,
        *,
        endpoint_url: str,
        clock: Clock,
        entropy: Entropy,
        issuer: Issuer,
        wall: Clock | None = None,
        limits: Limits | None = None,
        runtime: str | None = None,
        runtimes: Runtimes | None = None,
        npm: Npm | None = None,
        fetches: bool = True,
        log: Log | None = None,
    ) -> None:
        """`clock` dates log lines and log streams; `wall` is real time, by which functions count down to their timeout.

        With a virtual `clock`, function code reads virtual time, too. `endpoint_url` is where function code reaches
        AWS. `runtime` is the module that loads handlers: AWS's own if it is installed, ours otherwise. `runtimes` finds
        the interpreters for other runtimes; without it only the engine's own Python is available. `npm` installs the
        packages of AWS's SDK that Node.js code expects in its runtime; without it they are missing. If it may not
        fetch, only those are there that were installed before.
        """
        # Absolute: a function's process starts in its own folder, where a relative path would be wrong.
        self._code = CodeDirectory(workdir.resolve() / "code", load_code)
        self._endpoint_url = endpoint_url
        self._clock = clock
        self._entropy = entropy
        self._issuer = issuer
        self._is_virtual = self._clock.is_virtual
        self._wall = clock if self._is_virtual else wall or SystemClock()
        self._limits = limits or Limits()
        self._runtime = runtime or default_runtime()
        self._runtimes = runtimes or Runtimes({}, workdir)
        self._sdk = None if npm is None else NodeSdk(npm, self._code.root, fetches=fetches)
        self._log = log or SilentLog()
        self._closed = threading.Event()
        self._put = threading.Event()
        threading.Thread(target=self._freeze_idle, name="redrive-freezer", daemon=True).start()
        self._pool: Pool[Sandbox] = Pool(
            running_max=self._limits.concurrency_max,
            idle_max=self._limits.idle_max,
            idle_ms_max=self._limits.idle_ms_max,
            monotonic=monotonic_ms,
        )
        self._provisioned = Provisioned(
            self._pool, self._start_ahead, self._key_ahead,
            count_max=self._limits.provisioned_max, monotonic=monotonic_ms, log=self._log,
        )  # fmt: skip

    def provide(self, wanted: Sequence[Provision]) -> None:
        """See Provisioner."""
        self._provisioned.provide(wanted)

    def invoke(self, invocation: Invocation) -> InvocationResult:
        return self._invoke(invocation, None)

    def invoke_streaming(self, invocation: Invocation, response: ResponseStream) -> InvocationResult:
        """See StreamingInvoker."""
        return self._invoke(invocation, response)

    def _invoke(self, invocation: Invocation, response: ResponseStream | None) -> InvocationResult:
        if self._pool.is_closed:
            return _failed("The invoker is closed.")
        function = invocation.unqualified_arn
        throttled = self._pool.admit(function, invocation.reserved)
        if throttled is not None:
            return InvocationResult(InvocationStatus.THROTTLED, error=throttled)
        try:
            counted = self._pool.under_way(function)
            return replace(
                self._admitted(function, invocation, response), concurrent=counted.of_function,
                concurrent_in_all=counted.in_all, concurrent_unreserved=counted.unreserved,
            )  # fmt: skip
        finally:
            self._pool.leave(function, invocation.reserved)

    def _admitted(
        self, function: str, invocation: Invocation, response: ResponseStream | None
    ) -> InvocationResult:  # fmt: skip
        """Perform a run that the pool has admitted."""
        try:
            # The credentials of an environment cannot be replaced: an environment with older credentials is not reused.
            key = PoolKey(function, invocation.version, f"{invocation.revision} {self._credentials_expiry()}")
            for taken in (*self._provisioned.keys(invocation), key):
                warm = self._pool.take(taken)
                if warm is not None:
                    limit_ms = float(invocation.timeout_ms)
                    return self._run(taken, warm, invocation, response, limit_ms=limit_ms, init_ms=None)
            return self._run_cold(key, invocation, response)
        except NoBootstrap:
            return _without_entrypoint(invocation)
        except UnusableCode as error:
            return _failed(str(error))
        except OSError as error:
            self._log.warning("environment not started", function_arn=invocation.function_arn, error=error)
            return _failed(f"No process could be started for the function: {error}")

    def close(self) -> None:
        """End all processes. Runs under way fail, and new runs are refused."""
        self._code.close()
        self._closed.set()
        self._put.set()
        self._pool.close(CLOSE_WAIT_S)

    def _run_cold(
        self, key: PoolKey, invocation: Invocation, response: ResponseStream | None
    ) -> InvocationResult:  # fmt: skip
        """Start an environment and run the function in it.

        Loading has its own timeout. After that timeout it is tried once more, then within the function's timeout.
        """
        sandbox = self._start(invocation)
        begin = monotonic_ms()
        started = sandbox.await_ready(self._limits.init_ms_max)
        limit_ms = float(invocation.timeout_ms)
        if isinstance(started, TimedOut):
            self._pool.drop(sandbox)
            self._log.info("function loading repeated", function_arn=invocation.function_arn)
            sandbox = self._start(invocation)
            begin = monotonic_ms()
            started = sandbox.await_ready(limit_ms)
            limit_ms -= monotonic_ms() - begin
        init_ms = monotonic_ms() - begin
        if isinstance(started, Ready):
            return self._run(key, sandbox, invocation, response, limit_ms=limit_ms, init_ms=init_ms)
        self._end(sandbox, invocation, started)
        return self._result(sandbox, invocation, started, duration_ms=init_ms, init_ms=init_ms)

    def _run(
        self, key: PoolKey, sandbox: Sandbox, invocation: Invocation, response: ResponseStream | None,
        *, limit_ms: float, init_ms: float | None,
    ) -> InvocationResult:  # fmt: skip
        begin = monotonic_ms()
        try:
            ran = sandbox.run(self._event(invocation, limit_ms), limit_ms, response)
        except BaseException:
            self._pool.drop(sandbox)
            raise
        duration_ms = monotonic_ms() - begin
        is_reusable = isinstance(ran, Reported) and ran.fits
        if not is_reusable:
            self._end(sandbox, invocation, ran)
        result = self._result(sandbox, invocation, ran, duration_ms=duration_ms, init_ms=init_ms)
        if is_reusable:
            self._pool.put(key, sandbox)
            self._put.set()
        return result

    def _freeze_idle(self) -> None:
        """Freeze environments some time after their run.

        Not at once: in a fast sequence, each run would wait for the freeze.
        """
        while not self._closed.is_set():
            self._put.wait()
            self._put.clear()
            self._closed.wait(FREEZE_AFTER_MS / 1000)
            if self._pool.freeze_idle(FREEZE_AFTER_MS / 2):
                self._put.set()

    def _end(self, sandbox: Sandbox, invocation: Invocation, ran: Ran) -> None:
        """End an environment that is not reused, and write why to its log."""
        self._pool.drop(sandbox)
        text = log_text_of(ran, invocation, self._clock.now())
        if text is not None:
            sandbox.note(text)

    def _result(
        self, sandbox: Sandbox, invocation: Invocation, ran: Ran, *, duration_ms: float, init_ms: float | None
    ) -> InvocationResult:
        if isinstance(ran, Exited) and self._pool.is_closed:
            return _failed("The invoker was closed while the function ran.")
        is_error = not isinstance(ran, Reported) or ran.is_error
        if self._is_virtual:
            # A run takes no virtual time. Its real time would differ between a history and its replay.
            duration_ms = float(invocation.timeout_ms) if isinstance(ran, TimedOut) else 0.0
            init_ms = None if init_ms is None else 0.0
        return InvocationResult(
            InvocationStatus.FUNCTION_ERROR if is_error else InvocationStatus.OK,
            payload=sandbox.program.shown_bytes(payload_of(ran, invocation)),
            lines=tuple(replace(line, text=sandbox.program.shown(line.text)) for line in sandbox.take_lines()),
            log_stream=sandbox.log_stream,
            duration_ms=duration_ms,
            init_ms=init_ms,
            memory_used_mb=sandbox.memory_used_mb,
            error=ran.error_type if isinstance(ran, Reported) else "",
            is_streamed=sandbox.has_streamed,
        )

    def _key_ahead(self, invocation: Invocation) -> PoolKey:
        """The key of environments that are kept ready for calls by an ARN."""
        revision = f"{invocation.revision} {self._credentials_expiry()}"
        return PoolKey(invocation.unqualified_arn, invocation.version, revision, invocation.function_arn)

    def _start_ahead(self, key: PoolKey, invocation: Invocation) -> str:
        """Start an environment before a call needs it. Returns why it cannot be used; empty if it can."""
        try:
            sandbox = self._start(invocation, key)
        except (NoBootstrap, UnusableCode, OSError) as error:
            return str(error) or NO_BOOTSTRAP
        started = sandbox.await_ready(self._limits.init_ms_max)
        if not isinstance(started, Ready):
            self._pool.drop(sandbox)
            return f"{type(started).__name__} while the function was loaded"
        self._pool.put(key, sandbox)
        self._put.set()
        return ""

    def _start(self, invocation: Invocation, ahead: PoolKey | None = None) -> Sandbox:
        """Start an environment for a run, or `ahead` of runs."""
        task_root = self._code.path(invocation.code.digest)
        opt_root = self._code.merged(invocation.code.layers) if invocation.code.layers else None
        no_sdk = "" if self._sdk is None else self._sdk.provide(task_root, invocation.code.runtime, opt_root)
        log_stream = new_log_stream(self._clock.now(), invocation.version, self._entropy)
        variables = function_variables(
            invocation, log_stream=log_stream, task_root=str(task_root), endpoint_url=self._endpoint_url,
            credentials=environment_credentials(
                self._issuer, invocation, self._entropy, expires_at=self._credentials_expiry()
            ),
            initialization=ON_DEMAND if ahead is None else IN_ADVANCE,
        )  # fmt: skip
        program = Program(
            self._runtime,
            invocation.code.handler,
            task_root,
            variables,
            invocation.memory_mb,
            invocation.timeout_ms,
            virtual_now=self._clock.now() if self._is_virtual else None,
            opt_root=opt_root,
        )
        command, warning = self._command(invocation, program)
        program = replace(program, command=command)
        sandbox = self._pool.adopt(Sandbox(program, log_stream=log_stream, clock=self._clock), ahead)
        self._log.info("environment started", function_arn=invocation.function_arn, log_stream=log_stream)
        for text in filter(None, (warning, no_sdk, _missing_layers(invocation))):
            self._log.warning("environment incomplete", function_arn=invocation.function_arn, reason=text)
            if not self._is_virtual:  # In virtual time, the report of a run is the same on each machine.
                sandbox.note(f"[WARNING] {text}")
        return sandbox

    def _command(self, invocation: Invocation, program: Program) -> tuple[tuple[str, ...], str]:
        """The command that runs a function's Runtime (empty for the engine's own Python), and a warning for the log.

        Errors: UnusableCode (there is no such program on this machine).
        """
        runtime = invocation.code.runtime
        if runtime.startswith(PROVIDED):
            bootstrap = bootstrap_of(program.task_root, program.opt_root)
            if bootstrap is None:
                raise NoBootstrap
            return (str(bootstrap),), ""
        found = self._runtimes.of(runtime)
        root = str(program.task_root)
        if runtime.startswith(NODE):
            virtual = [] if program.virtual_now is None else [str(program.virtual_now), str(program.timeout_ms)]
            heap = f"--max-old-space-size={int(invocation.memory_mb * NODE_HEAP_PART)}"
            return (found.path, heap, str(NODE_RUNTIME), root, program.handler, *virtual), found.warning
        if not found.path or self._is_virtual:
            # Virtual time works only in the engine's own Python.
            return (), found.warning
        opt_root = "" if program.opt_root is None else str(program.opt_root)
        packages = sysconfig.get_path("purelib")
        arguments = (str(OTHER_PYTHON_RUNTIME), root, opt_root, packages, program.handler)
        return (found.path, "-u", "-s", *arguments), found.warning

    def _credentials_expiry(self) -> Instant:
        return credentials_expiry(self._clock.now(), is_virtual=self._is_virtual)

    def _event(self, invocation: Invocation, limit_ms: float) -> Event:
        now = self._wall.now()
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(now + round(limit_ms)),
            "Lambda-Runtime-Invoked-Function-Arn": invocation.function_arn,
            "Lambda-Runtime-Trace-Id": invocation.trace(now),
        }
        if invocation.client_context is not None:
            headers["Lambda-Runtime-Client-Context"] = invocation.client_context
        return Event(invocation.request_id, headers, invocation.payload)


def default_runtime() -> str:
    """AWS's runtime interface client if it is installed, ours if not."""
    return AWS_RUNTIME if USES_LINUX and importlib.util.find_spec(AWS_RUNTIME) else OWN_RUNTIME


def _missing_layers(invocation: Invocation) -> str:
    """The warning about layers whose content is not here; empty if there are none."""
    missing = ", ".join(invocation.code.missing_layers)
    return missing and (
        f"redrive has no content of the layers {missing}: the function runs without them. Publish them here by "
        "PublishLayerVersion, or put what they hold into the function's archive."
    )


def _without_entrypoint(invocation: Invocation) -> InvocationResult:
    payload = INVALID_ENTRYPOINT % (invocation.request_id.encode(), NO_BOOTSTRAP.encode())
    return InvocationResult(InvocationStatus.FUNCTION_ERROR, payload=payload)


def _failed(error: str) -> InvocationResult:
    return InvocationResult(InvocationStatus.SERVICE_ERROR, error=error)
