"""Faults where functions are run: whoever runs one, an event, a queue or a caller who waits.

An error of the service throttles the run or fails it from outside; any other error is the function's own.
"""

from __future__ import annotations

import threading

from redrive.core.clock import SECOND_MS
from redrive.core.documents import dump_json
from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.delivery.faults import Fault, strike
from redrive.delivery.invocation import Invocation, InvocationResult, InvocationStatus, Invoker
from redrive.engine.engine import Runner
from redrive.invoke.endings import TimedOut, payload_of


class FaultyInvoker:
    """An Invoker in front of another: runs that a fault is aimed at are slow, or fail without having run."""

    def __init__(self, invoker: Invoker, run: Runner, *, real_time: bool) -> None:
        """In real time slow runs take as long as their fault says; in virtual time they only tell so."""
        self._invoker = invoker
        self._run = run
        self._real_time = real_time
        self._closed = threading.Event()

    def invoke(self, invocation: Invocation) -> InvocationResult:
        arns = (invocation.function_arn, invocation.unqualified_arn)
        fault = self._run(lambda tx: strike(tx, *arns))
        if fault is None:
            return self._invoker.invoke(invocation)
        if self._real_time:
            self._closed.wait(min(fault.latency_ms, invocation.timeout_ms) / SECOND_MS)
        if fault.latency_ms >= invocation.timeout_ms:
            payload = payload_of(TimedOut(), invocation)
            return InvocationResult(InvocationStatus.FUNCTION_ERROR, payload, duration_ms=invocation.timeout_ms)
        return _failed(fault) if fault.code else self._invoker.invoke(invocation)

    def close(self) -> None:
        """Stop what is running, and what waits to."""
        self._closed.set()
        self._invoker.close()


def _failed(fault: Fault) -> InvocationResult:
    message = fault.error.message
    if fault.code in THROTTLES:
        return InvocationResult(InvocationStatus.THROTTLED, error=message)
    if fault.code in FAULTS:
        return InvocationResult(InvocationStatus.SERVICE_ERROR, error=message)
    document = {"errorMessage": message, "errorType": fault.code}
    return InvocationResult(InvocationStatus.FUNCTION_ERROR, dump_json(document).encode(), duration_ms=fault.latency_ms)
