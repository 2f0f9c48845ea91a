"""Recursive loops: how often a chain of requests has run a function, told by the trace header. No transaction.

The header has a member `Lineage`, one `digest:count` for each function of the chain. SDKs inside of a function send the
header with each request; SQS keeps the header with each message.

Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable

from redrive.core.documents import load_json
from redrive.services.lambda_.limits import LINEAGE_FUNCTIONS_MAX, RECURSIVE_RUNS_MAX

_MEMBER = "Lineage="
_DIGEST_LENGTH = 8


def lineage_after(trace_header: str, function_arn: str) -> str:
    """The lineage for one more run of a function, whose ARN has no qualifier."""
    digest = _digest(function_arn)
    if _MEMBER not in trace_header:
        return f"{digest}:1"
    runs = _runs_of(trace_header)
    runs[digest] = runs.pop(digest, 0) + 1
    latest = list(runs.items())[-LINEAGE_FUNCTIONS_MAX:]
    return ",".join(f"{one}:{count}" for one, count in latest)


def is_loop(trace_header: str, function_arn: str) -> bool:
    """Whether the chain of a request has run a function so often that another run is refused."""
    if _MEMBER not in trace_header:
        return False
    return _runs_of(trace_header).get(_digest(function_arn), 0) >= RECURSIVE_RUNS_MAX


def without_lineage(trace_header: str) -> str:
    """The trace header without its lineage."""
    if _MEMBER not in trace_header:
        return trace_header
    return ";".join(part for part in trace_header.split(";") if not part.strip().startswith(_MEMBER))


def longest_chain(trace_headers: Iterable[str], function_arn: str) -> str:
    """The header whose chain has run a function most often; empty without headers. Stands for a whole batch."""
    digest = _digest(function_arn)
    return max(trace_headers, key=lambda header: _runs_of(header).get(digest, 0), default="")


def chain_of_batch(event: bytes, function_arn: str) -> str:
    """The trace header of the message in a batch whose chain has run the function most often; empty without chains."""
    if _MEMBER.encode() not in event:
        return ""
    headers = (record.get("attributes", {}).get("AWSTraceHeader", "") for record in load_json(event)["Records"])
    return longest_chain((header for header in headers if _MEMBER in header), function_arn)


def _runs_of(trace_header: str) -> dict[str, int]:
    _, _, text = trace_header.partition(_MEMBER)
    found: dict[str, int] = {}
    for entry in text.partition(";")[0].split(",")[:LINEAGE_FUNCTIONS_MAX]:
        digest, _, count = entry.strip().partition(":")
        if len(digest) == _DIGEST_LENGTH and count.isascii() and count.isdecimal() and len(count) < _DIGEST_LENGTH:
            found[digest] = int(count)
    return found


@functools.lru_cache(maxsize=4_096)
def _digest(function_arn: str) -> str:
    return hashlib.sha256(function_arn.encode()).hexdigest()[:_DIGEST_LENGTH]
