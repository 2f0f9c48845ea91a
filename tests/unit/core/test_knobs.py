"""Knobs: sizes with the range from which the simulator draws."""

from __future__ import annotations

from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from redrive.core.knobs import PRODUCTION, drawn, ranges


def test_each_size_has_a_range_that_reaches_down_to_one() -> None:
    """The smallest size brings the seams of the work closest together."""
    assert list(ranges()) == list(asdict(PRODUCTION))
    assert {low for low, _ in ranges().values()} == {1}


def test_simulated_sizes_are_not_above_those_of_production() -> None:
    """What production cuts, the simulator cuts smaller: never the other way round."""
    above = [name for name, (_, high) in ranges().items() if high > getattr(PRODUCTION, name)]

    assert above == []


@given(st.data())
def test_drawn_sizes_are_within_their_ranges(data: st.DataObject) -> None:
    knobs = drawn(lambda low, high: data.draw(st.integers(low, high)))

    outside = [name for name, (low, high) in ranges().items() if not low <= getattr(knobs, name) <= high]

    assert outside == []
