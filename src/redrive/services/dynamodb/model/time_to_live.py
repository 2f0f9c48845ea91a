"""When an item expires, and when a table's time to live may change.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
"""

from __future__ import annotations

from decimal import Decimal

from redrive.core.clock import SECOND_MS, Instant
from redrive.languages.dynamo import Item
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import Table, invalid


def expiry_of(item: Item, attribute: str, now: Instant) -> Instant | None:
    """Return when an item expires if it is written now; its attribute is a number of seconds since the epoch.

    Returns None if the attribute is missing or not a number; for a time more than five years ago (AWS's protection
    against accidental deletion); and for a time after the year 9999 (probably milliseconds instead of seconds).
    """
    value = item.get(attribute)
    if value is None or "N" not in value:
        return None
    seconds = Decimal(value["N"])
    if not now - limits.EXPIRY_AGE_MS_MAX <= seconds * SECOND_MS <= limits.EXPIRY_S_MAX * SECOND_MS:
        return None
    return int(seconds * SECOND_MS)


def check_expiry_change(table: Table, attribute: str, *, enabled: bool, now: Instant) -> None:
    """Refuse to enable an enabled time to live, to disable a disabled one, or to change it twice within an hour.

    Errors: ValidationException.
    """
    current = table.expiry_attribute
    if enabled and current == attribute:
        raise invalid("TimeToLive is already enabled")
    if not enabled and current is None:
        raise invalid("TimeToLive is already disabled")
    if current is not None and current != attribute:
        raise invalid(f"TimeToLive is active on a different AttributeName: current AttributeName is {current}")
    changed = table.time_to_live
    if changed is not None and now < changed.changed_at + limits.TIME_TO_LIVE_CHANGE_INTERVAL_MS:
        raise invalid("Time to live has been modified multiple times within a fixed interval")
