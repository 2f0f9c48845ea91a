"""What has to be true of the changes of alarms, and of the log events that metric filters have counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple


class Change(NamedTuple):
    """A change of an alarm: the instant as text, the state before, and the new state."""

    alarm: str
    at: str
    old: str
    new: str


def chained(history: Iterable[Change]) -> Iterator[str]:
    """Each change of an alarm begins with the state that the one before has led to."""
    states: dict[str, str] = {}
    for change in sorted(history, key=lambda one: (one.alarm, one.at)):
        before = states.get(change.alarm, "INSUFFICIENT_DATA")
        if change.old != before or change.new == change.old:
            yield f"{change.alarm} went at {change.at} from {change.old} to {change.new}, and was in {before}"
        states[change.alarm] = change.new


def told(listener: str, history: Sequence[Change], heard: Sequence[Change]) -> Iterator[str]:
    """A listener has heard of each change in the history once, and of nothing else."""
    happened, said = Counter(history), Counter(heard)
    for change in sorted(happened.keys() | said.keys()):
        if happened[change] != said[change]:
            times = f"{happened[change]} times in the history, and {said[change]} times told"
            yield f"{listener}: {change.alarm} to {change.new} at {change.at} is {times}"


def counted(messages: Sequence[str], acknowledged: Sequence[str], metric: float) -> Iterator[str]:
    """Each acknowledged log event is stored, and the metric is the number of the stored failures."""
    lost = set(acknowledged) - set(messages)
    if lost:
        yield f"{len(lost)} log events are lost, such as {min(lost)}"
    failures = sum("FAILED" in message for message in messages)
    if failures != metric:
        yield f"the metric filter has counted {metric:g} of {failures} failures"


def seen(states: Mapping[str, int]) -> Iterator[str]:
    """The run has something to say: each alarm has changed its state."""
    for alarm, changes in states.items():
        if not changes:
            yield f"{alarm} has never changed its state, so this run says nothing of it"
