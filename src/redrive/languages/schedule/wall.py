"""Local (wall-clock) time of an IANA time zone.

A *wall* is a datetime without a zone. Most walls occur at one instant; when clocks go back, some occur twice, and when
clocks go forward, some never occur: they are in a *gap*.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from redrive.core.clock import SECOND_MS, Instant

ZONE_CHARACTERS_MAX = 50
"""Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# Entries of a zoneinfo directory that are not IANA names: the machine's own zone, other versions of the files.
_NOT_IANA = frozenset({"localtime", "posixrules", "posix", "right"})


class InvalidTimezone(ValueError):
    """No IANA time zone has this name (`zone`)."""

    def __init__(self, zone: str) -> None:
        super().__init__(f"{zone!r} is not the name of an IANA time zone")
        self.zone = zone


def find_zone(name: str) -> ZoneInfo:
    """The IANA zone with exactly this name (`Europe/London`, `UTC`). Errors: InvalidTimezone."""
    # A long name is not looked up: each part would be a folder, to any depth.
    if len(name) > ZONE_CHARACTERS_MAX or name.partition("/")[0] in _NOT_IANA:
        raise InvalidTimezone(name)
    try:
        return ZoneInfo(name)
    # OSError: if the database is the tzdata package, `America` is a directory, which cannot be opened.
    except (ZoneInfoNotFoundError, ValueError, OSError) as unknown:
        raise InvalidTimezone(name) from unknown


def wall_at(instant: Instant, zone: ZoneInfo) -> datetime:
    """The wall in a zone at an instant of the years 1 to 9999."""
    moment = _EPOCH + instant * _MILLISECOND
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_pass(wall: datetime, zone: ZoneInfo) -> Instant | None:
    """The first instant at which clocks in the zone show this wall; None if the wall is in a gap."""
    earlier, later = _readings(wall, zone)
    return earlier if earlier <= later else None


def gap_end(wall: datetime, zone: ZoneInfo) -> Instant:
    """The instant at which clocks skip this wall, which must be in a gap."""
    # In a gap, the old offset maps the wall to an instant after the jump, the new offset to one before.
    after, before = _readings(wall, zone)
    while after - before > SECOND_MS:
        middle = before + (after - before) // (2 * SECOND_MS) * SECOND_MS
        if wall_at(middle, zone) < wall:
            before = middle
        else:
            after = middle
    return after


def _readings(wall: datetime, zone: ZoneInfo) -> tuple[Instant, Instant]:
    """The instants of a wall by the offset before the nearest change of offset, and by the offset after it."""
    return _read(wall.replace(tzinfo=zone, fold=0)), _read(wall.replace(tzinfo=zone, fold=1))


def _read(wall: datetime) -> Instant:
    return (wall - _EPOCH) // _MILLISECOND
