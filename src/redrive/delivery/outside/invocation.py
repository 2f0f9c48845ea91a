"""Runs of functions: the request to an invoker, and its result."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from redrive.core.clock import Instant


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """Where a function's code is: a zip archive in the blob table, and the handler's name in it."""

    digest: str
    handler: str
    runtime: str
    layers: tuple[str, ...] = ()
    """The digests of the layers' archives. They are unpacked into /opt in this order; later files win."""
    missing_layers: tuple[str, ...] = ()
    """The ARNs of layers without content here: they belong to accounts that publish nothing in this store."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of a function. `revision` changes with code and configuration, so that old processes are not reused.

    `reserved` is the function's reserved concurrency, None for no bound of its own. `trace_header` is X-Ray's, of the
    request that asked for the run; empty if it had none. `lineage` tells which functions the chain of requests has run.
    """

    request_id: str
    function_arn: str
    function_name: str
    version: str
    revision: str
    code: FunctionCode
    payload: bytes
    timeout_ms: int
    memory_mb: int
    role_arn: str
    log_group: str
    environment: Mapping[str, str] = field(default_factory=dict)
    reserved: int | None = None
    client_context: str | None = None
    trace_header: str = ""
    lineage: str = ""
    log_format: str = "Text"
    log_level: str = ""
    system_log_level: str = ""

    @property
    def unqualified_arn(self) -> str:
        """The function's ARN without version or alias."""
        return ":".join(self.function_arn.split(":")[:7])

    def trace(self, now: Instant) -> str:
        """The trace header that the function sees: that of the request, or one of its own."""
        header = self.trace_header or trace_id(self.request_id, now)
        return f"{header};Lineage={self.lineage}" if self.lineage else header


def trace_id(request_id: str, begun_at: Instant) -> str:
    """An X-Ray trace header of a run, not sampled. The same run gives the same one."""
    digits = hashlib.sha256(request_id.encode()).hexdigest()
    return f"Root=1-{begun_at // 1000:08x}-{digits[:24]};Parent={digits[24:40]};Sampled=0"


PROVISIONS = "provisions"
"""The topic of commits after which other environments may have to be kept ready."""


@dataclass(frozen=True, slots=True)
class Provision:
    """So many environments are to be kept ready for runs of this kind: by this ARN, of this version."""

    invocation: Invocation
    count: int


class InvocationStatus(enum.Enum):
    """How a run ended."""

    OK = "ok"
    FUNCTION_ERROR = "function error"
    THROTTLED = "throttled"
    SERVICE_ERROR = "service error"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that the function or its runtime environment wrote."""

    at: Instant
    text: str


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """The result of a run. `payload` is the function's answer or error document; empty if the function never ran.

    `error` says why a run was throttled, or why it failed for a reason outside the function. `concurrent` is how many
    runs of the function were under way when the run began, and `concurrent_in_all` how many of all functions; both
    include the run, and are 0 if the invoker does not count. `concurrent_unreserved` counts those of all functions
    without reserved concurrency. `is_streamed`: the answer went to the ResponseStream, and
    `payload` is empty, or the error document of a run that failed after that; `error` is then the error's type.
    """

    status: InvocationStatus
    payload: bytes = b""
    lines: tuple[LogLine, ...] = ()
    log_stream: str = ""
    duration_ms: float = 0.0
    init_ms: float | None = None
    memory_used_mb: int = 0
    error: str = ""
    concurrent: int = 0
    concurrent_in_all: int = 0
    concurrent_unreserved: int = 0
    is_streamed: bool = False


class ResponseStream(Protocol):
    """Where a function's answer goes, piece by piece, while the function runs. Called by the thread of the run."""

    @property
    def is_full(self) -> bool:
        """Whether the caller reads more slowly than the function writes: the function should wait."""
        ...

    def begin(self, content_type: str) -> None:
        """The function begins to answer; `content_type` is empty if the runtime names none."""
        ...

    def write(self, piece: bytes) -> None:
        """One more piece. It is no error if the caller has gone: the function runs on."""
        ...


class Invoker(Protocol):
    """Runs functions. `invoke` blocks until the run has ended; many threads may use it."""

    def invoke(self, invocation: Invocation) -> InvocationResult:
        """Run a function once. Never raises for errors of the function. The function's timeout bounds the run."""
        ...

    def close(self) -> None:
        """Stop all runs."""
        ...


class Provisioner(Protocol):
    """What keeps environments ready before the first call."""

    def provide(self, wanted: Sequence[Provision]) -> None:
        """Keep these environments ready, and give up all others that were kept. Starts missing ones, and waits."""
        ...


@runtime_checkable
class StreamingInvoker(Invoker, Protocol):
    """An Invoker whose functions can answer in pieces."""

    def invoke_streaming(self, invocation: Invocation, response: ResponseStream) -> InvocationResult:
        """Run a function once, as `invoke` does. A function that does not stream answers by the result alone."""
        ...


def invoke_streaming(invoker: Invoker, invocation: Invocation, response: ResponseStream) -> InvocationResult:
    """Run a function whose answer may come in pieces, by any invoker."""
    if isinstance(invoker, StreamingInvoker):
        return invoker.invoke_streaming(invocation, response)
    return invoker.invoke(invocation)
