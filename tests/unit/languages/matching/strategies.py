"""Patterns and texts on which Python's `re` is the oracle. Texts are short: `re` may go back for ever."""

from __future__ import annotations

from hypothesis import strategies as st

TEXTS = st.text("ab1 \n", max_size=8)

_SINGLE = st.sampled_from(["a", "b", "1", " ", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\.", r"\n", r"\x61"])
_CLASSES = st.sampled_from(["[ab]", "[^a]", "[a-c1]", r"[\d ]", r"[^\w]", "[]a]", "[a-]", r"[\]b]"])
_ANCHORS = st.sampled_from(["^", "$"])
_REPEATS = st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{0}", "{1,}", "{0,2}", "{1,3}", "*?", "+?", "??"])
_CHARACTERS = st.one_of(_SINGLE, _CLASSES)


def _sequences(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    branch = st.lists(items, max_size=5).map("".join)
    return st.lists(branch, min_size=1, max_size=3).map("|".join)


_ITEMS = st.one_of(st.builds(str.__add__, _CHARACTERS, _REPEATS), _ANCHORS)
FLAT = _sequences(_ITEMS)
"""Patterns without groups."""

_BOUNDARIES = st.sampled_from([r"\b", r"\B"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds("{}{}){}".format, st.sampled_from(["(", "(?:"]), inner, _REPEATS)
    ahead = st.builds("{}{})".format, st.sampled_from(["(?=", "(?!"]), inner)
    behind = st.builds("{}{})".format, st.sampled_from(["(?<=", "(?<!"]), _CHARACTERS)
    return _sequences(st.one_of(_ITEMS, group, ahead, behind, _BOUNDARIES))


NESTED = st.recursive(FLAT, _nested, max_leaves=4)
"""Patterns with groups, looks around and boundaries."""
