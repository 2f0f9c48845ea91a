"""How a run fails: a rule is broken, and whoever reads of it is told all it takes to see it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redrive.sim.trace import Trace


class RuleBroken(BaseException):
    """A rule does not hold: which one, and what was seen. Not an Exception: the engine survives those."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule
        self.what = what


class SimulationFailed(AssertionError):
    """A run in which a rule was broken: which, by what, in which setting, after which events, and how to replay it."""

    def __init__(self, rule: str, what: str, *, setting: str, trace: Trace, replay: str) -> None:
        """`replay` is the command that runs the whole of it again, if there is one."""
        lines = [f"broken rule: {rule}", f"  {what}", setting, "  the last events:"]
        lines += [f"    {line}" for line in trace.latest]
        if replay:
            lines.append(f"  replay: {replay} --until {trace.length + 1} --trace")
        super().__init__("\n".join(lines))
        self.rule = rule


@contextmanager
def told_on_failure(trace: Trace, *, setting: Callable[[], str], replay: str) -> Iterator[None]:
    """Whatever ends a run early is told with its setting and its last events. Errors: SimulationFailed."""
    try:
        yield
    except SimulationFailed:
        raise
    except RuleBroken as error:
        raise SimulationFailed(error.rule, error.what, setting=setting(), trace=trace, replay=replay) from error
    except Exception as error:
        rule = "the engine raises nothing of its own"
        raise SimulationFailed(rule, repr(error), setting=setting(), trace=trace, replay=replay) from error
