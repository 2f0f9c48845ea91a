"""Lineage: which things a chain of requests has passed, and how often, as a member of X-Ray's trace header.

    Root=1-67749d00-…;Parent=…;Sampled=0;Lineage=3d2a0b30:2|68fd508a:1

AWS's SDKs hand the header of a function's run on with each request of the function, and SQS keeps the header with each
message. Each thing is named by eight digits of a digest of its ARN. What others have written into a member is left out.
"""

from __future__ import annotations

import functools
import hashlib

_DIGITS = 8
"""Of a digest; a count has fewer."""


def times_passed(header: str, member: str, arn: str) -> int:
    """How often a chain has passed a thing. `member` is the name in the header."""
    return _counts(header, member).get(_digest(arn), 0) if member in header else 0


def passed(header: str, member: str, arn: str, *, most: int) -> str:
    """The value of the member after the chain has passed a thing once more; at most the latest `most` things."""
    if member not in header:
        return f"{_digest(arn)}:1"
    counts = _counts(header, member)
    counts[_digest(arn)] = counts.pop(_digest(arn), 0) + 1
    return "|".join(f"{digest}:{times}" for digest, times in list(counts.items())[-most:])


def without(header: str, member: str) -> str:
    """The header without a member."""
    if member not in header:
        return header
    return ";".join(part for part in header.split(";") if part and not part.strip().startswith(f"{member}="))


def _counts(header: str, member: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name != member:
            continue
        for entry in value.split("|"):
            digest, _, times = entry.strip().partition(":")
            if len(digest) == _DIGITS and times.isascii() and times.isdecimal() and len(times) < _DIGITS:
                found[digest] = int(times)
    return found


@functools.lru_cache(maxsize=4_096)
def _digest(arn: str) -> str:
    return hashlib.sha256(arn.encode()).hexdigest()[:_DIGITS]
