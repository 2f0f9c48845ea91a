"""The limits of HTTP, each with its name and reason: what one client, and all of them together, may use.

Seconds are counted by ticks of the event loop, not read from a clock: while the server itself is stopped, no client
counts as silent.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace

BODY_BYTES_MAX = 64 * 1024 * 1024
"""More than AWS allows for any request of the services here (Lambda's 50 MB zip, in base64, is the largest)."""

HEAD_BYTES_MAX = 64 * 1024
"""The most bytes of a head, and of the trailers after a body."""

FIELDS_MAX = 200
"""How many headers, and how many trailers, a request may have. SDKs send about fifteen."""

REQUESTS_AHEAD_MAX = 16
"""How many further requests a client may send ahead before the server stops reading from its connection."""

SLICE_BYTES = 16 * 1024
"""How many bytes are parsed at once, which bounds how many requests are parsed beyond those that may wait."""

UPLOAD_SLICE_BYTES = 256 * 1024
"""The same within a body that is not collected: it is one request, however much of it is parsed at once."""

DESCRIPTORS_KEPT = 256
"""How many file descriptors connections leave free for the store, the models and the functions' processes."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits that a server is started with; tests give smaller ones."""

    tick_s: float = 1
    connections: int = 1_024
    idle_ticks: int = 300
    """Between two requests. Clients keep connections in pools, and reconnect when one was closed."""
    head_ticks: int = 30
    """From the first byte of a request to the end of its headers."""
    silent_ticks: int = 30
    """Without another byte of a body."""
    body_ticks: int = 60
    """For a body; one more tick for each `bytes_per_tick` received."""
    bytes_per_tick: int = 1_024
    unread_ticks: int = 60
    """While the client reads nothing of its answers."""
    held_bytes: int = 256 * 1024 * 1024
    """Bytes of bodies that are unfinished, waiting, or large and under way, on all connections together."""
    unsent_bytes: int = 256 * 1024 * 1024
    """Bytes of answers that clients have not read yet, on all connections together."""


def limits_of_process() -> HttpLimits:
    """The limits for this process: connections leave enough file descriptors for everything else."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = HttpLimits()
    if descriptors == resource.RLIM_INFINITY:
        return limits
    left = descriptors - min(DESCRIPTORS_KEPT, descriptors // 2)
    return replace(limits, connections=max(1, min(limits.connections, left)))
