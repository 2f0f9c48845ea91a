"""The kinds of streams that event source mappings can read. They hold no state."""

from __future__ import annotations

from redrive.delivery.sources.stream_sources import StreamSource
from redrive.services.dynamodb.stream_source import TableStreams
from redrive.services.kinesis.source import KinesisStreams

STREAM_SOURCES: tuple[StreamSource, ...] = (TableStreams(), KinesisStreams())
"""One for each service with streams, in alphabetical order."""
