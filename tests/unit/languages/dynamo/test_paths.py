"""Paths that cannot stand beside each other, found in one pass over them."""

from __future__ import annotations

from itertools import combinations, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.expressions.findings import Findings
from redrive.languages.dynamo.expressions.tree import Path
from redrive.languages.dynamo.paths import note_entangled
from tests.unit.languages.counting import lines_run

PATHS = st.lists(
    st.builds(
        lambda attribute, rest: Path((attribute, *rest)),
        st.sampled_from("ab"),
        st.lists(st.sampled_from(["a", "b", 0, 1]), max_size=3),
    ),
    max_size=7,
)


def complaint(paths: list[Path]) -> str:
    findings = Findings("ProjectionExpression")
    note_entangled(findings, paths)
    try:
        findings.report()
    except ServiceError as error:
        return error.message
    return ""


def expected(paths: list[Path]) -> str:
    """The same by looking at all pairs, in the order in which the later path of each was written."""
    pairs = sorted(combinations(range(len(paths)), 2), key=lambda pair: (pair[1], pair[0]))
    for problem, entangled in (("overlap", overlap), ("conflict", conflict)):
        for one, two in pairs:
            if entangled(paths[one], paths[two]):
                return (
                    f"Invalid ProjectionExpression: Two document paths {problem} with each other; must remove or "
                    f"rewrite one of these paths; path one: {paths[one]}, path two: {paths[two]}"
                )
    return ""


def overlap(one: Path, two: Path) -> bool:
    return all(a == b for a, b in zip(one.elements, two.elements, strict=False))


def conflict(one: Path, two: Path) -> bool:
    kinds = [{type(a), type(b)} for a, b in zip_longest(one.elements, two.elements) if a != b]
    return bool(kinds) and kinds[0] == {int, str}


@given(PATHS)
def test_first_pair_that_is_entangled_is_named(paths: list[Path]) -> None:
    assert complaint(paths) == expected(paths)


@pytest.mark.parametrize("depth", [1, 20])
def test_work_doubles_with_the_paths(depth: int) -> None:
    """500 paths within one attribute were compared pair by pair: half a second for an expression of 4 KB."""

    def work(count: int) -> int:
        return lines_run(complaint, [Path(("a",) * depth + (f"b{number}",)) for number in range(count)])

    assert work(800) < 2.2 * work(400)
