"""Errands: work that runs outside, between two transactions. Each kind has a port in the engine and a result."""

from __future__ import annotations

from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.delivery.outside.reading import Reading, ReadingResult

Errand = Invocation | HttpCall | Reading
Result = InvocationResult | HttpResult | ReadingResult
