"""What one client, and all of them together, may take of the server. Every limit of HTTP here has its name and reason.

Seconds are counted by a tick of the event loop, not read from a clock: while the server itself stands still, no client
is held to be silent.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace

BODY_BYTES_MAX = 64 * 1024 * 1024
"""More than AWS takes for any request of the services here (Lambda's 50 MB of zip is the largest, as base64)."""

HEAD_BYTES_MAX = 64 * 1024
"""What may come of a request before its headers are complete, and of trailers after its body."""

FIELDS_MAX = 200
"""How many headers, and how many trailers, a request may have. SDKs send about fifteen."""

REQUESTS_AHEAD_MAX = 16
"""How many further requests a connection may have sent before it is not read from any more."""

SLICE_BYTES = 16 * 1024
"""How much is parsed at once, which bounds how many requests sent ahead are known beyond the ones that may wait."""

DESCRIPTORS_KEPT = 256
"""How many file descriptors connections leave to the store, the models and the functions' processes."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits that a server is started with; tests give smaller ones."""

    tick_s: float = 1
    connections: int = 1_024
    idle_ticks: int = 300
    """Between requests. Clients keep connections in pools, and ask again when one was closed."""
    head_ticks: int = 30
    """From the first byte of a request to the end of its headers."""
    silent_ticks: int = 30
    """Without another byte of a body."""
    body_ticks: int = 60
    """For a body, and beyond that a tick for each `bytes_per_tick` received."""
    bytes_per_tick: int = 1_024
    unread_ticks: int = 60
    """With an answer of which the client reads nothing."""
    held_bytes: int = 256 * 1024 * 1024
    """Of the bodies that are unfinished, wait, or are large and under way, on all connections together."""
    unsent_bytes: int = 256 * 1024 * 1024
    """Of the answers that clients have not read yet, on all connections together."""


def limits_of_process() -> HttpLimits:
    """The limits for this process: connections leave descriptors to everything else, so that none of it runs out."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = HttpLimits()
    if descriptors == resource.RLIM_INFINITY:
        return limits
    left = descriptors - min(DESCRIPTORS_KEPT, descriptors // 2)
    return replace(limits, connections=max(1, min(limits.connections, left)))
