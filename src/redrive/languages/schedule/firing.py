"""When a schedule fires: the nominal instants, before flexible windows and outages move them."""

from __future__ import annotations

from typing import assert_never
from zoneinfo import ZoneInfo

from redrive.core.clock import DAY_MS, Instant, parse_instant
from redrive.languages.schedule.at import At
from redrive.languages.schedule.cron import MINUTE, Cron
from redrive.languages.schedule.expression import Expression
from redrive.languages.schedule.rate import Rate
from redrive.languages.schedule.wall import find_zone, first_pass, gap_end, wall_at

# A cron fires in the years 1970 to 2199 of its zone; one more day on both sides covers every zone.
_CRON_AFTER_MIN = -DAY_MS
_CRON_AFTER_MAX = parse_instant("2200-01-02T00:00:00")

# The calendar ends with the year 9999: a later firing never happens.
_INSTANT_END = parse_instant("9999-12-31T00:00:00") + DAY_MS


def next_fire(
    expression: Expression,
    *,
    zone: str,
    anchor: Instant,
    after: Instant,
    start: Instant | None = None,
    end: Instant | None = None,
) -> Instant | None:
    """The first nominal instant after `after` at which the schedule fires; None if there is none.

    `zone` is an IANA name: at and cron are local times of this zone; a rate ignores it, but it must exist. `anchor` is
    the instant of creation: a rate without a start fires at the anchor, one interval later, two later, and so on; with
    a `start` the intervals count from the start. `start` is inclusive, `end` is exclusive, and an at ignores both.

    Errors: InvalidTimezone.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html and
    docs/semantics/schedule-expressions.md
    """
    found_zone = find_zone(zone)
    match expression:
        case At():
            instant = expression.instant(found_zone)
            return instant if after < instant < _INSTANT_END else None
        case Rate():
            found: Instant | None = expression.next_after(after, anchor if start is None else start)
        case Cron():
            found = _next_cron(expression, found_zone, after if start is None else max(after, start - 1))
        case _:
            assert_never(expression)
    if found is None or found >= (_INSTANT_END if end is None else min(end, _INSTANT_END)):
        return None
    return found


def upcoming(
    expression: Expression,
    *,
    zone: str,
    anchor: Instant,
    after: Instant,
    start: Instant | None = None,
    end: Instant | None = None,
    count: int,
) -> list[Instant]:
    """The next `count` instants of next_fire, ascending; fewer if the schedule ends. Errors: InvalidTimezone."""
    instants: list[Instant] = []
    while len(instants) < count:
        instant = next_fire(expression, zone=zone, anchor=anchor, after=after, start=start, end=end)
        if instant is None:
            break
        instants.append(instant)
        after = instant
    return instants


def _next_cron(cron: Cron, zone: ZoneInfo, after: Instant) -> Instant | None:
    """Walk the matching wall minutes from the one at `after`; skip gaps and the second pass of repeated hours.

    Terminates: every round moves the wall time forward, and a cron matches none after 2199.
    """
    if after >= _CRON_AFTER_MAX:
        return None
    wall = cron.first_wall(wall_at(max(after, _CRON_AFTER_MIN), zone).replace(second=0, microsecond=0))
    while wall is not None:
        instant = first_pass(wall, zone)
        if instant is None:
            wall = cron.first_wall(wall_at(gap_end(wall, zone), zone))
        elif instant > after:
            return instant
        else:
            wall = cron.first_wall(wall + MINUTE)
    return None
