"""Which cases a fuzz test runs.

In `make test` and in CI: as many as the test says, from seeds that are the same every time. In `make fuzz`
(REDRIVE_FUZZ_SECONDS): new seeds until the test's share of the time is over. REDRIVE_FUZZ_CASE: one case again.
"""

from __future__ import annotations

import os
import secrets
import time
import zlib
from collections.abc import Callable, Iterator

import pytest

Cases = Callable[[int], Iterator[int]]

SHARES = pytest.StashKey[int]()
SEED_BITS = 48


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count who shares the time, after what was not asked for has gone."""
    config.stash[SHARES] = sum("cases" in getattr(item, "fixturenames", ()) for item in items)


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> Cases:
    """The seeds of this test's cases, given how many there are in CI. A failing case is named in the report."""
    again, seconds = os.environ.get("REDRIVE_FUZZ_CASE"), os.environ.get("REDRIVE_FUZZ_SECONDS")

    def seeds(count: int) -> Iterator[int]:
        if again is not None:
            return iter([int(again)])
        if seconds is not None:
            return _told(request, _fresh(float(seconds) / request.config.stash[SHARES]))
        first = zlib.crc32(request.node.name.encode())
        return _told(request, iter(range(first, first + count)))

    return seeds


def _told(request: pytest.FixtureRequest, seeds: Iterator[int]) -> Iterator[int]:
    """The seeds, each told to the report before its case runs: the last one told is the one that failed."""
    for seed in seeds:
        request.node.user_properties[:] = [("fuzz case", seed)]
        yield seed


def _fresh(seconds: float) -> Iterator[int]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield secrets.randbits(SEED_BITS)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Say at the end of a failure how to repeat its case."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]  # pluggy's result, sent into the generator
    seed = dict(item.user_properties).get("fuzz case")
    if report.failed and seed is not None:
        again = f"REDRIVE_FUZZ_CASE={seed} .venv/bin/python -m pytest '{item.nodeid}'"
        report.sections.append(("to repeat this case", again))
