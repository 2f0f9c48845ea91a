"""Patterns and events over few keys and values, so that they often meet."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from redrive.languages.event_pattern import Pattern, PatternError, parse

KEYS = st.sampled_from(["a", "b", "c", "a.b", "b.c", "a.b.c", "", "k1", "k2"])
TEXTS = st.sampled_from(["", "a", "ab", "abc", "ABC", "b", "bab", "*", "10.0.0.1", "10.0.1.7", "::1", "1", "ä", "Ä"])
NUMBERS = st.sampled_from([0, 1, -1, 1.5, 2, 300, 300.0, 3.0e2, 1e9, 2**53 + 1, 2**63])
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none())
WILDCARDS = st.sampled_from(["*", "", "a*", "*b", "*a*", "a*c", "\\*", "b*b", "*b*b*"])
CIDRS = st.sampled_from(["10.0.0.0/24", "10.0.0.0/8", "::/0", "0.0.0.0/0", "::1/128"])
SOME_TEXTS = st.sampled_from(["a", "ab", "ABC", "b", "10.0", "ä"])


def expression(name: str, value: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return value.map(lambda one: {name: one})


def one_or_list(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, st.lists(values, min_size=1, max_size=3))


def ranges() -> st.SearchStrategy[list[Any]]:
    single = st.tuples(st.sampled_from(["=", "<", "<=", ">", ">="]), st.sampled_from([-1, 1.5, 2, 300, 1e9])).map(list)
    low, high = st.sampled_from([">", ">="]), st.sampled_from(["<", "<="])
    both = st.tuples(low, st.sampled_from([-1, 0, 1]), high, st.sampled_from([1.5, 2, 300])).map(list)
    return st.one_of(single, both)


ANY_CASE = expression("equals-ignore-case", TEXTS)
CONDITIONS = st.one_of(
    SCALARS,
    expression("prefix", st.one_of(TEXTS, ANY_CASE)),
    expression("suffix", st.one_of(TEXTS, ANY_CASE)),
    ANY_CASE,
    expression("wildcard", WILDCARDS),
    expression("numeric", ranges()),
    expression("cidr", CIDRS),
    expression("exists", st.booleans()),
    expression("anything-but", st.one_of(one_or_list(TEXTS), one_or_list(NUMBERS))),
    expression("anything-but", expression("prefix", one_or_list(SOME_TEXTS))),
    expression("anything-but", expression("suffix", one_or_list(SOME_TEXTS))),
    expression("anything-but", expression("equals-ignore-case", one_or_list(TEXTS))),
    expression("anything-but", expression("wildcard", one_or_list(WILDCARDS))),
)
FIELDS = st.lists(CONDITIONS, min_size=1, max_size=3)


def objects(values: st.SearchStrategy[Any], keys: st.SearchStrategy[str] = KEYS) -> st.SearchStrategy[dict[str, Any]]:
    fields = st.dictionaries(keys, values, min_size=1, max_size=3)
    either = st.lists(fields, min_size=2, max_size=3).map(lambda members: {"$or": members})
    return st.one_of(fields, fields, st.tuples(fields, either).map(lambda both: both[0] | both[1]))


def _read(document: dict[str, Any]) -> Pattern | None:
    try:
        return parse(json.dumps(document))
    except PatternError:
        return None  # A path stands twice in it.


PATTERN_DOCUMENTS = st.recursive(objects(FIELDS), lambda inner: objects(st.one_of(FIELDS, inner)), max_leaves=4)
PATTERNS = PATTERN_DOCUMENTS.map(_read).filter(lambda pattern: pattern is not None)
EVENT_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=10,
)
EVENTS = st.dictionaries(KEYS, EVENT_VALUES, max_size=4)

WIDE_KEYS = st.sampled_from([f"k{number}" for number in range(30)])
"""More keys than a state asks for one by one."""

WIDE_FIELDS = st.lists(st.one_of(SCALARS, expression("exists", st.booleans())), min_size=1, max_size=2)
WIDE = st.dictionaries(WIDE_KEYS, WIDE_FIELDS, min_size=1, max_size=3)
WIDE_DOCUMENTS = st.one_of(WIDE, WIDE.map(lambda inner: {"in": inner}))
WIDE_PATTERNS = WIDE_DOCUMENTS.map(_read)
WIDE_OBJECTS = st.dictionaries(st.one_of(WIDE_KEYS, WIDE_KEYS, st.just("k1.x")), EVENT_VALUES, max_size=10)
WIDE_EVENTS = st.one_of(
    WIDE_OBJECTS, st.one_of(WIDE_OBJECTS, st.lists(WIDE_OBJECTS, max_size=2)).map(lambda inner: {"in": inner})
)
