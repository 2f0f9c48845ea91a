"""The clock of a server goes on, whatever is done to the machine's."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import AHEAD_MS_MAX, SystemClock, VirtualClock
from redrive.prove.stage.stage import StageClock


def shown(*machine: int) -> Sequence[int]:
    """What the clock shows each time that the machine's shows these."""
    reads = iter(machine)
    clock = SystemClock(lambda: next(reads))
    return [clock.now() for _ in machine]


def test_clock_shows_what_the_machine_shows() -> None:
    assert shown(100, 101, 101, 500) == [100, 101, 101, 500]


def test_clock_goes_at_half_speed_after_it_was_set_back() -> None:
    """It neither runs backwards nor stands still, and agrees with the machine's again in the end."""
    assert shown(1000, 900, 902, 1000, 1100, 1101) == [1000, 1000, 1001, 1050, 1100, 1101]


def test_clock_set_back_again_goes_on_from_where_it_was() -> None:
    assert shown(1000, 900, 902, 802, 902) == [1000, 1000, 1001, 1001, 1051]


def test_clock_set_forwards_follows_at_once() -> None:
    assert shown(1000, 900, 5000) == [1000, 1000, 5000]


def resumed(seen_at: int, *machine: int) -> tuple[int, Sequence[int]]:
    """How far behind the machine is at the start, and what the clock shows afterwards."""
    reads = iter(machine)
    clock = SystemClock(lambda: next(reads))
    return clock.resume(seen_at), [clock.now() for _ in machine[1:]]


def test_clock_goes_on_from_what_an_earlier_process_has_seen_at_half_speed() -> None:
    assert resumed(1000, 900, 900, 902, 1000, 1100, 1101) == (100, [1000, 1001, 1050, 1100, 1101])


def test_clock_that_is_not_behind_resumes_as_if_nothing_had_been_seen() -> None:
    assert resumed(1000, 1000, 1000, 5000) == (0, [1000, 5000])
    assert resumed(0, 7, 8, 9) == (0, [8, 9])


def test_clock_that_was_far_ahead_by_mistake_is_not_followed() -> None:
    behind = AHEAD_MS_MAX + 1

    assert resumed(behind, 0, 0, 10) == (behind, [0, 10])
    assert resumed(AHEAD_MS_MAX, 0, 0, 10) == (AHEAD_MS_MAX, [AHEAD_MS_MAX, AHEAD_MS_MAX + 5])


def test_clock_says_whether_it_stands_still_until_it_is_moved() -> None:
    """Whoever waits by a clock asks it, whatever its type: that of `prove` stands still, too."""
    assert not SystemClock().is_virtual
    assert all(clock.is_virtual for clock in (VirtualClock(0), StageClock(0)))
