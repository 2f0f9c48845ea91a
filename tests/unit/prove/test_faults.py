"""Histories are written down as texts that read back as the same histories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import UserError
from redrive.prove.play.faults import Act, Fault, Leg, Spot, Strike, parse_history

spots = st.builds(
    Spot, st.sampled_from(["sqs", "effect"]), st.text(min_size=1, max_size=9), st.text(max_size=9), st.integers(1, 99)
)  # fmt: skip
legs = st.builds(
    Leg,
    act=st.sampled_from(Act),
    delay_ms=st.integers(0, 10**10),
    strikes=st.lists(
        st.builds(Strike, st.integers(0, 99) | spots, st.sampled_from(Fault), st.integers(0, 9)), max_size=4
    ).map(tuple),
    message=st.integers(0, 9),
)


@given(st.lists(legs, max_size=5))
def test_history_reads_back_as_it_was_written(history: list[Leg]) -> None:
    assert parse_history([str(leg) for leg in history]) == tuple(history)


@pytest.mark.parametrize("text", ["", "wait", "deliver crash@0", "deliver crash-after", "redrive in 3 days"])
def test_text_that_is_no_leg_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_history([text])


def test_redrive_counts_for_no_fault_and_a_duplicate_for_one() -> None:
    assert Leg(Act.REDRIVE, 1000).faults == 0
    assert Leg(Act.DUPLICATE).faults == 1
    assert Leg(Act.DUPLICATE, 0, (Strike(0, Fault.LOST),)).faults == 2
