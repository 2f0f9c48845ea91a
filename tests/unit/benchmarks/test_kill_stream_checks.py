"""The checks of the kill run with streams find each planted defect, and find nothing in a history without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from benchmarks.kill import stream_checks as checks

WRITTEN = {"a": [1, 2, -2, 3]}
ITEM = {"id": {"S": "a"}, "owner": {"S": "o"}}


def order(done: Sequence[int], *given_up: int) -> list[str]:
    """What is said of a function that did these numbers of one key."""
    return list(checks.in_order("f", WRITTEN, {"a": done}, {"a": set(given_up)}))


@pytest.mark.parametrize("found", [[1, 2, -2, 3], [1, 1, 2, -2, 3], [1, 2, 1, 2, -2, 3]])
def test_stream_may_have_a_repeated_write_twice(found: list[int]) -> None:
    assert list(checks.contents("s", WRITTEN, {"a": found})) == []


@pytest.mark.parametrize("found", [[], [1, 2, -2], [2, 1, -2, 3], [1, 2, -2, 3, 4]])
def test_stream_that_lacks_or_adds_or_disorders_is_found(found: list[int]) -> None:
    assert len(list(checks.contents("s", WRITTEN, {"a": found}))) == 1


def test_stream_of_a_table_has_each_change_once() -> None:
    assert list(checks.exactly("s", WRITTEN)) == []
    assert list(checks.exactly("s", {"a": [1, 1, 2]})) == ["s: a has 1 records twice"]


@pytest.mark.parametrize(("done", "given_up"), [([1, 2, -2, 3], ()), ([1, 2, 1, 2, -2, 3], ()), ([1, 2, 3], (-2,))])
def test_function_may_do_records_again_and_leave_out_what_was_given_up(
    done: list[int], given_up: tuple[int, ...]
) -> None:  # fmt: skip
    assert order(done, *given_up) == []


@pytest.mark.parametrize(
    ("done", "why"),
    [([1, 2, -2], "skipped: [3]"), ([2, 1, -2, 3], "had 1 after 2"), ([1, 2, -2, 3, 9], "[9], which nobody wrote")],
)
def test_function_that_skips_disorders_or_invents_is_found(done: list[int], why: str) -> None:
    (wrong,) = order(done)

    assert why in wrong


@pytest.mark.parametrize("items", [{}, {"a": {**ITEM, "owner": {"S": "p"}}}, {"a": ITEM, "b": ITEM}])
def test_table_that_is_not_what_was_written_is_found(items: Mapping[str, Mapping[str, object]]) -> None:
    assert list(checks.table({"a": ITEM}, {"a": ITEM})) == []
    assert len(list(checks.table({"a": ITEM}, dict(items)))) == 1  # type: ignore[arg-type]


def test_index_that_is_not_its_table_is_found() -> None:
    """Items without the index's key are not in the index."""
    items = {"a": ITEM, "b": {"id": {"S": "b"}}}

    assert list(checks.index("i", "owner", items, {"a": ITEM})) == []
    assert len(list(checks.index("i", "owner", items, {}))) == 1
    assert len(list(checks.index("i", "owner", items, {"a": ITEM, "b": items["b"]}))) == 1
