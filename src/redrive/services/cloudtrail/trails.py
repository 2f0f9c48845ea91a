"""Finds the trail that a request means."""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.cloudtrail.model.trail import Trail, place_of, trail_arn, unknown_trail
from redrive.store.api import Transaction


def find_trail(tx: Transaction, caller: Caller, written: str, action: str) -> tuple[Scope, Trail]:
    """The home of a trail of the caller's account, and the trail.

    Errors: TrailNotFoundException; AccessDeniedException; those of the name.
    """
    home, name = place_of(caller.scope, written)
    tx.services.authorize(tx, caller, action, trail_arn(home, name))
    trail = tx.resources.get(Trail, home, name) if home.account == caller.account else None
    if trail is None:
        raise unknown_trail(home, name)
    return home, trail


def own_trail(tx: Transaction, caller: Caller, written: str, action: str) -> tuple[Scope, Trail]:
    """The same for a trail that the request changes: it must be called in the trail's home region.

    Errors: also InvalidHomeRegionException.
    """
    home, trail = find_trail(tx, caller, written, action)
    if home.region != caller.region:
        message = f"The trail {trail_arn(home, trail.name)} can be changed only in its home region, {home.region}."
        raise ServiceError("InvalidHomeRegionException", message)
    return home, trail


def trails_of(tx: Transaction, scope: Scope, *, with_shadows: bool) -> list[tuple[Scope, Trail]]:
    """The trails that apply to a scope, sorted by name; without shadows only those whose home it is."""
    found = [
        (home, trail)
        for home, trail in tx.resources.everywhere(Trail)
        if home == scope or (with_shadows and home.account == scope.account and trail.is_multi_region)
    ]
    return sorted(found, key=lambda one: (one[1].name, one[0].region))


def refuse_token(token: str | None) -> None:
    """Refuse the token of a further page: all trails of a region are on the first. Errors: InvalidTokenException."""
    if token is not None:
        raise ServiceError("InvalidTokenException", "The next token is not valid.")
