"""The names of EventBridge's timers: `account/region/name`."""

from __future__ import annotations

from redrive.core.scope import Scope

REPLAY_TIMER = "events.replay"
CONNECTION_TIMER = "events.connection"
CALL_TIMER = "events.call"
"""No worker waits for this timer: it holds when a delayed call to an API destination may go out, by delivery."""


def timer_name(scope: Scope, name: str) -> str:
    """Return the name of a resource's timer."""
    return f"{scope}/{name}"


def scope_and_name(timer: str) -> tuple[Scope, str]:
    """Split a timer's name into scope and name; the inverse of `timer_name`."""
    account, region, name = timer.split("/", 2)
    return Scope(account, region), name
