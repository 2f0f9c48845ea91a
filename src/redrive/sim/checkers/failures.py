"""Failures of a run: a broken rule, and a report with all that is needed to see it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redrive.sim.trace import Trace


class RuleBroken(BaseException):
    """A rule does not hold: its text, and what was observed. No Exception, because the engine catches those."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule
        self.what = what


class SimulationFailed(AssertionError):
    """A rule was broken in a run. Says which, what was observed, the setting, the last events, how to replay."""

    def __init__(self, rule: str, what: str, *, setting: str, trace: Trace, replay: str) -> None:
        """`replay` is the command that repeats the whole run; empty if there is none."""
        lines = [f"broken rule: {rule}", f"  {what}", setting, "  the last events:"]
        lines += [f"    {line}" for line in trace.latest]
        if replay:
            lines.append(f"  replay: {replay} --until {trace.length + 1} --trace")
        super().__init__("\n".join(lines))
        self.rule = rule


@contextmanager
def told_on_failure(trace: Trace, *, setting: Callable[[], str], replay: str) -> Iterator[None]:
    """Report an error that ends a run early, with the setting and the last events. Errors: SimulationFailed."""
    try:
        yield
    except SimulationFailed:
        raise
    except RuleBroken as error:
        raise SimulationFailed(error.rule, error.what, setting=setting(), trace=trace, replay=replay) from error
    except Exception as error:
        rule = "the engine raises nothing of its own"
        raise SimulationFailed(rule, repr(error), setting=setting(), trace=trace, replay=replay) from error
