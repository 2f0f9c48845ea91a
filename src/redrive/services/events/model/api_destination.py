"""API destinations: HTTP endpoints that rules call, and how many calls each gets in a second.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html
"""

from __future__ import annotations

import enum
import ipaddress
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import urlsplit

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.scope import Scope
from redrive.services.events.model.connection import Connection, ConnectionState

CALLS_PER_S_DEFAULT = 300
"""Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"""

_US = 1_000
"""Microseconds in a millisecond: rates above 1,000 per second need a finer unit than the clock's."""
_USABLE = frozenset({ConnectionState.AUTHORIZED, ConnectionState.ACTIVE})


class ApiDestinationState(enum.Enum):
    """Whether calls to an API destination are authorized."""

    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"


@dataclass(frozen=True, slots=True)
class ApiDestination:
    """An API destination. Each `*` in the path of `endpoint` stands for a value that the target of a rule gives."""

    KIND: ClassVar[str] = "events.api_destination"

    name: str
    uid: str
    connection_arn: str
    endpoint: str
    method: str
    created_at: Instant
    modified_at: Instant
    calls_per_s: int | None = None
    description: str | None = None

    def arn(self, scope: Scope) -> str:
        """The API destination's ARN."""
        return f"arn:aws:events:{scope.region}:{scope.account}:api-destination/{self.name}/{self.uid}"


@dataclass(frozen=True, slots=True)
class CallRate:
    """How much of its rate an API destination has used: a token bucket that holds one second's calls.

    `used_until_us` is when the last call would go out if all calls went out evenly, in microseconds.
    """

    KIND: ClassVar[str] = "events.call_rate"

    name: str
    used_until_us: int = 0

    def admit(self, now: Instant, calls_per_s: int) -> tuple[CallRate, Instant]:
        """Add one call. Returns the new rate and when the call may go out: now, unless the bucket is empty."""
        used_until_us = max(self.used_until_us, now * _US) + SECOND_MS * _US // calls_per_s
        at = -((SECOND_MS * _US - used_until_us) // _US)
        return replace(self, used_until_us=used_until_us), max(now, at)


def state_of(connection: Connection | None) -> ApiDestinationState:
    """The state of an API destination with this connection; None if the connection was deleted."""
    is_usable = connection is not None and connection.state in _USABLE
    return ApiDestinationState.ACTIVE if is_usable else ApiDestinationState.INACTIVE


def is_callable(endpoint: str) -> bool:
    """Whether an endpoint is a URL that can be called: over HTTPS, or over HTTP on this machine.

    AWS takes HTTPS alone. A server of a developer on this machine seldom has a certificate.
    """
    try:
        url = urlsplit(endpoint)
        host = url.hostname or ""
        _ = url.port
    except ValueError:
        return False
    return bool(host) and (url.scheme == "https" or (url.scheme == "http" and _is_local(host)))


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
