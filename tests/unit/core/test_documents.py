"""JSON from outside: what is read can be written again, and stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.documents import NESTING_MAX, EncodedDocument, dump_json, load_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "NaN", "[Infinity]", "[-Infinity]", "1e999", "-1e999", '"\\ud800"', '"\\uDC00x"', '{"\\udfff": 1}',
        '"\\ude00\\ud83d"', "9" * 5_000, "[" * 100_000 + "]" * 100_000,
        "[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1),
        '{"a":' * (NESTING_MAX + 1) + "1" + "}" * (NESTING_MAX + 1), b"\xff", b'"\xed\xa0\x80"',
    ],
)  # fmt: skip
def test_what_could_not_be_written_again_is_not_read(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        load_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\\\ud800"', "\\ud800"),
        ('"' + "[" * 1_000 + '"', "[" * 1_000),
        ("1.5e3", 1500.0),
        (b'{"a": "\xc3\xbc"}', {"a": "\u00fc"}),
        (json.dumps([[1], {}] * 500), [[1], {}] * 500),
    ],
)
def test_what_only_looks_like_it_is_read(text: str | bytes, value: object) -> None:
    assert load_json(text) == value


def test_nesting_up_to_the_bound_is_read() -> None:
    value = load_json("[" * NESTING_MAX + "]" * NESTING_MAX)

    assert dump_json(value) == "[" * NESTING_MAX + "]" * NESTING_MAX


@given(value=values, is_ascii=st.booleans())
def test_json_of_any_value_is_read_as_it_was(value: object, is_ascii: bool) -> None:
    assert load_json(json.dumps(value, ensure_ascii=is_ascii)) == value


def test_encoded_document_is_parsed_when_it_is_read_and_once() -> None:
    """Its text goes through the program unread, unless somebody looks into it."""
    parsed: list[bytes] = []

    def load(text: bytes) -> dict[str, object]:
        parsed.append(text)
        return dict(load_json(text))

    document = EncodedDocument(b'{"id":1,"name":"x"}', load)

    assert parsed == []
    assert (document["id"], len(document), list(document)) == (1, 2, ["id", "name"])
    assert document == {"id": 1, "name": "x"}
    assert parsed == [document.text]
