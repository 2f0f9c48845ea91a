"""Versions of items: numbers that count writes, so that a write is refused when another one came in between.

A write that asks for the version that was read, and sets the next one, counts attempts in it: how often work was tried
is no fact of the work. Source of the pattern:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/BestPractices_OptimisticLocking.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from redrive.prove.calls.calls import Call, Params, mapping_of, parts_of

_NAMED = re.compile(r"version|revision|(^|_)(rev|vsn)(_|$)|lock_?(counter|number)", re.IGNORECASE)
_ASKED = re.compile(r"([#\w]+)\s*=\s*(:\w+)|(:\w+)\s*=\s*([#\w]+)")
_WRITES = frozenset({"PutItem", "UpdateItem"})


def versions_of(call: Call) -> frozenset[str]:
    """The attributes of a write's item that are versions: named so, and asked for by the write's own condition."""
    if call.service != "dynamodb" or call.operation not in _WRITES:
        return frozenset()
    return frozenset(name for name in _asked_for(call.params) if _NAMED.search(name))


def versions_in(calls: Iterable[Call]) -> frozenset[tuple[str, str]]:
    """The tables and attributes of all versions that calls ask for."""
    return frozenset((part.target, name) for call in calls for part in parts_of(call) for name in versions_of(part))


def _asked_for(params: Params) -> Iterator[str]:
    names = mapping_of(params.get("ExpressionAttributeNames"))
    for found in _ASKED.finditer(str(params.get("ConditionExpression", ""))):
        name = found[1] or found[4]
        yield str(names.get(name, name))
    for name, one in mapping_of(params.get("Expected")).items():
        if "Value" in mapping_of(one):
            yield name
