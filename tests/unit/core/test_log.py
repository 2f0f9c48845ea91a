"""Lines of the log: one event to a line, whatever its facts are."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import VirtualClock
from redrive.core.log import VALUE_LENGTH_MAX, LineLog, spelled


def line_of(**facts: object) -> str:
    stream = io.StringIO()
    LineLog(VirtualClock(0), stream=stream).warning("delivery refused", **facts)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("orders", "orders"),
        (17, "17"),
        (None, "None"),
        ("arn:aws:sqs:us-east-1:1:q", "arn:aws:sqs:us-east-1:1:q"),
        ("Größe", "Größe"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('say "yes"', r'"say \"yes\""'),
        ("C:\\dir", r'"C:\\dir"'),
        ("one\ntwo", r'"one\ntwo"'),
        ("\x1b[31m", r'"\u001b[31m"'),
        ("\u2028\x85", r'"\u2028\u0085"'),
        ("\ud800", r'"\ud800"'),
        (ValueError("no such thing"), '"no such thing"'),
    ],
)
def test_value_is_one_word_or_a_quoted_text(value: object, text: str) -> None:
    assert spelled(value) == text


def test_newline_in_a_value_makes_no_second_event() -> None:
    forged = "x\n1970-01-01T00:00:00Z error store lost"

    assert line_of(queue=forged, attempt=2) == (
        '1970-01-01T00:00:00Z warning delivery refused queue="x\\n1970-01-01T00:00:00Z error store lost" attempt=2\n'
    )


@given(st.text())
def test_any_value_stays_in_its_line_and_can_be_read_again(value: str) -> None:
    text = spelled(value)

    assert text.isprintable()
    assert (json.loads(text) if text.startswith('"') else text) == value


def test_long_value_is_cut_with_a_mark() -> None:
    assert spelled("x" * 10_000) == json.dumps("x" * VALUE_LENGTH_MAX + "… (10000 characters)", ensure_ascii=False)
