"""Rates in memory: what transactions take counts once they commit."""

from __future__ import annotations

from redrive.store.tables.rates import Rates, RateTable


def test_level_rises_from_its_floor_once_the_transaction_commits() -> None:
    rates: Rates = {}
    first = RateTable(rates)

    before = [first.take("a", floor=10, amount=5), first.take("a", floor=10, amount=5)]
    unseen = RateTable(rates).take("a", floor=0, amount=1)
    first.committed()

    assert (before, unseen, rates) == ([10, 15], 0, {"a": 20})


def test_steps_that_share_a_commit_both_count() -> None:
    rates: Rates = {}
    one, other = RateTable(rates), RateTable(rates)
    one.take("a", floor=10, amount=5)
    other.take("a", floor=12, amount=5)

    one.committed()
    other.committed()

    assert rates == {"a": 20}


def test_what_was_rolled_back_or_taken_over_counts_as_it_should() -> None:
    rates: Rates = {}
    whole, part = RateTable(rates), RateTable(rates)
    mark = whole.mark
    whole.take("a", floor=0, amount=100)
    whole.rewind(mark)
    part.take("a", floor=0, amount=1)
    part.take("b", floor=0, amount=2)

    whole.take_over(part)
    whole.committed()

    assert rates == {"a": 1, "b": 2}
