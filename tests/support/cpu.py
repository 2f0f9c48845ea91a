"""What the tests cost: the CPU of each file of tests, its child processes included, told at the end of a run.

CI has a bound of time, and a file that grows is seen here first. Nothing is asserted: machines differ.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

FILES_SHOWN = 15
SECONDS_SHOWN_MIN = 60
"""Runs that cost less print nothing."""
_KEY = "cpu_s"
_REST = "(imports, collection, pytest itself)"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_CpuOfFiles(config), "cpu-of-files")


class _CpuOfFiles:
    """Counts in each process that runs tests, and adds up in the process that prints."""

    def __init__(self, config: pytest.Config) -> None:
        self._own: dict[str, float] = defaultdict(float)
        self._of_workers: dict[str, float] = defaultdict(float)
        self._workeroutput: dict[str, Any] | None = getattr(config, "workeroutput", None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = _cpu_s()
        try:
            return (yield)
        finally:
            self._own[item.nodeid.partition("::")[0]] += _cpu_s() - before

    def pytest_sessionfinish(self) -> None:
        """What is left of a process's CPU is no test's."""
        self._own[_REST] = _cpu_s() - sum(self._own.values())
        if self._workeroutput is not None:
            self._workeroutput[_KEY] = dict(self._own)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for name, seconds in getattr(node, "workeroutput", {}).get(_KEY, {}).items():
            self._of_workers[name] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        # The workers of pytest-xdist are its children, which must not be counted again.
        lines = list(table(self._of_workers or self._own))
        if lines:
            terminalreporter.section("CPU of the tests")
            for line in lines:
                terminalreporter.write_line(line)


def table(cpu_s: Mapping[str, float], *, shown: int = FILES_SHOWN) -> Iterator[str]:
    """The files with the most CPU, one a line, after the sum; nothing for a run that costs little."""
    total = sum(cpu_s.values())
    if total < SECONDS_SHOWN_MIN:
        return
    yield f"{total:7.1f} s in all; the files with the most:"
    for name, seconds in sorted(cpu_s.items(), key=lambda one: -one[1])[:shown]:
        yield f"{seconds:7.1f} s {name}"


def _cpu_s() -> float:
    """The CPU of this process and of its children that have ended."""
    return sum(os.times()[:4])
