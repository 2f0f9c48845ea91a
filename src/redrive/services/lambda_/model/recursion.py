"""Recursive loops: how often a chain of requests has run a function, told by the member `Lineage` of the trace header.

Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
"""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.documents import load_json
from redrive.core.lineage import passed, times_passed, without
from redrive.services.lambda_.limits import LINEAGE_FUNCTIONS_MAX, RECURSIVE_RUNS_MAX

_MEMBER = "Lineage"


def lineage_after(trace_header: str, function_arn: str) -> str:
    """The lineage for one more run of a function, whose ARN has no qualifier."""
    return passed(trace_header, _MEMBER, function_arn, most=LINEAGE_FUNCTIONS_MAX)


def is_loop(trace_header: str, function_arn: str) -> bool:
    """Whether the chain of a request has run a function so often that another run is refused."""
    return times_passed(trace_header, _MEMBER, function_arn) >= RECURSIVE_RUNS_MAX


def without_lineage(trace_header: str) -> str:
    """The trace header without its lineage."""
    return without(trace_header, _MEMBER)


def longest_chain(trace_headers: Iterable[str], function_arn: str) -> str:
    """The header whose chain has run a function most often; empty without headers. Stands for a whole batch."""
    return max(trace_headers, key=lambda header: times_passed(header, _MEMBER, function_arn), default="")


def chain_of_batch(event: bytes, function_arn: str) -> str:
    """The trace header of the message in a batch whose chain has run the function most often; empty without chains."""
    if _MEMBER.encode() not in event:
        return ""
    headers = (record.get("attributes", {}).get("AWSTraceHeader", "") for record in load_json(event)["Records"])
    return longest_chain((header for header in headers if _MEMBER in header), function_arn)
