"""Errands: work that runs outside, between two transactions. Each kind has a port in the engine and a result."""

from __future__ import annotations

from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.outside.invocation import Invocation, InvocationResult

Errand = Invocation | HttpCall
Result = InvocationResult | HttpResult
