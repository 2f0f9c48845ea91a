"""Ids that begin with an instant and end with a hash."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.uuid7 import time_of_uuid7, uuid7

INSTANTS = st.integers(min_value=0, max_value=(1 << 48) - 1)


@given(instant=INSTANTS, text=st.text())
def test_instant_can_be_read_from_an_id_that_is_a_uuid_of_version_7(instant: int, text: str) -> None:
    made = uuid7(instant, text)

    assert time_of_uuid7(made) == instant
    assert (uuid.UUID(made).version, uuid.UUID(made).variant) == (7, uuid.RFC_4122)


@given(earlier=INSTANTS, later=INSTANTS)
def test_ids_sort_as_their_instants_do(earlier: int, later: int) -> None:
    assert (uuid7(earlier, "a")[:13] <= uuid7(later, "b")[:13]) == (earlier <= later)


def test_same_instant_and_text_have_the_same_id_and_others_another() -> None:
    assert uuid7(1, "a") == uuid7(1, "a")
    assert len({uuid7(1, "a"), uuid7(1, "b"), uuid7(2, "a")}) == 3


@pytest.mark.parametrize(
    "text", ["", "nightly", "01941f29-7c00-4000-8000-000000000000", "01941F29-7c00-7000-8000-000000000000"]
)
def test_what_is_no_such_id_has_no_instant(text: str) -> None:
    assert time_of_uuid7(text) is None
