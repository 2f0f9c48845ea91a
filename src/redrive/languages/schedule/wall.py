"""What clocks on the wall of an IANA time zone show, and when.

A *wall* is a datetime without a zone. Most walls are shown at one instant; when clocks go back some are shown
twice, and when they go forward some are never shown: they lie in a *gap*.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from redrive.core.clock import SECOND_MS, Instant

ZONE_CHARACTERS_MAX = 50
"""Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# Entries of a zoneinfo directory that are no IANA names: the machine's own zone, other editions of the files.
_NOT_IANA = frozenset({"localtime", "posixrules", "posix", "right"})


class InvalidTimezone(ValueError):
    """No IANA time zone has this name (`zone`)."""

    def __init__(self, zone: str) -> None:
        super().__init__(f"{zone!r} is not the name of an IANA time zone")
        self.zone = zone


def find_zone(name: str) -> ZoneInfo:
    """The IANA zone of this name, in its exact spelling (`Europe/London`, `UTC`). Errors: InvalidTimezone."""
    # A long one is not looked for: each of its parts would be a folder below the one before, to any depth.
    if len(name) > ZONE_CHARACTERS_MAX or name.partition("/")[0] in _NOT_IANA:
        raise InvalidTimezone(name)
    try:
        return ZoneInfo(name)
    # OSError: where the database is the tzdata package, `America` is a directory that will not open.
    except (ZoneInfoNotFoundError, ValueError, OSError) as unknown:
        raise InvalidTimezone(name) from unknown


def wall_at(instant: Instant, zone: ZoneInfo) -> datetime:
    """What clocks in the zone show at an instant of the years 1 to 9999."""
    moment = _EPOCH + instant * _MILLISECOND
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_pass(wall: datetime, zone: ZoneInfo) -> Instant | None:
    """When clocks in the zone show this wall, for the first time if twice; None if it lies in a gap."""
    earlier, later = _readings(wall, zone)
    return earlier if earlier <= later else None


def gap_end(wall: datetime, zone: ZoneInfo) -> Instant:
    """The instant at which clocks jump over this wall, which must lie in a gap."""
    # In a gap, the offset that was given up puts the wall after the jump, and the new one puts it before.
    after, before = _readings(wall, zone)
    while after - before > SECOND_MS:
        middle = before + (after - before) // (2 * SECOND_MS) * SECOND_MS
        if wall_at(middle, zone) < wall:
            before = middle
        else:
            after = middle
    return after


def _readings(wall: datetime, zone: ZoneInfo) -> tuple[Instant, Instant]:
    """The wall read with the offset before the nearest change of offset, and with the one after it."""
    return _read(wall.replace(tzinfo=zone, fold=0)), _read(wall.replace(tzinfo=zone, fold=1))


def _read(wall: datetime) -> Instant:
    return (wall - _EPOCH) // _MILLISECOND
