"""The kinds of streams that event source mappings can read. They hold no state."""

from __future__ import annotations

from redrive.delivery.sources.stream_sources import StreamSource

STREAM_SOURCES: tuple[StreamSource, ...] = ()
"""One for each service with streams, in alphabetical order."""
