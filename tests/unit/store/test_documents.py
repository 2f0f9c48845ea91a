"""Rows keep the same JSON whoever writes it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from redrive.core.documents import dump_dataclass, load_dataclass, load_json
from redrive.store.documents import dataclass_text, document_from, document_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
DOCUMENTS = st.dictionaries(
    TEXTS, st.recursive(SCALARS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner))
)


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    size: int


@dataclass(frozen=True, slots=True)
class Whole:
    name: str
    number: int
    colour: Colour
    parts: tuple[Part, ...]
    tags: dict[str, str]
    words: frozenset[str] = frozenset()
    view: Any = field(default_factory=dict)


@given(DOCUMENTS)
def test_document_is_read_as_it_was_written_by_either_reader(document: dict[str, Any]) -> None:
    text = document_text(document)

    assert document_from(text) == document
    assert load_json(text) == document


@given(
    TEXTS, st.integers(), st.lists(st.integers(0, 9)), st.dictionaries(TEXTS, TEXTS), st.frozensets(TEXTS, max_size=1)
)
def test_dataclass_is_written_as_core_writes_it(
    name: str, number: int, sizes: list[int], tags: dict[str, str], words: frozenset[str]
) -> None:
    """Numbers of more than 64 bits and mappings of other kinds are among them."""
    whole = Whole(name, number, Colour.RED, tuple(map(Part, sizes)), tags, words, MappingProxyType({"a": 1}))

    assert load_json(dataclass_text(whole)) == load_json(dump_dataclass(whole))
    assert load_dataclass(Whole, dataclass_text(whole)) == load_dataclass(Whole, dump_dataclass(whole))
