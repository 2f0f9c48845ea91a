"""A function's output, split into lines and bounded."""

from __future__ import annotations

from redrive.core.clock import Clock, Instant
from redrive.delivery.outside.invocation import LogLine

OUTPUT_BYTES_MAX = 1024 * 1024
LINE_BYTES_MAX = 256 * 1024
LINE_OVERHEAD_BYTES = 26
"""The size of a line besides its bytes, as in CloudWatch Logs: so empty lines are bounded, too.

Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
"""

TRUNCATED = "[output truncated: a run keeps 1 MB of what it writes]"


class Output:
    """Collects bytes into lines, each with the instant at which its end was read."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._partial = bytearray()
        self._lines: list[LogLine] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the bound is reached: further output is dropped until the lines are taken."""
        return self._bytes > OUTPUT_BYTES_MAX

    def feed(self, data: bytes) -> None:
        """Add bytes. Beyond the bound they are dropped, except for one line that says so."""
        start, now = 0, self._clock.now()
        while not self.is_full and (end := data.find(b"\n", start)) >= 0:
            self._collect(data[start:end], now)
            self._end_line(now)
            start = end + 1
        if not self.is_full:
            self._collect(data[start:], now)

    def note(self, text: str) -> None:
        """Add a line of the environment's own, which is never dropped."""
        if self._partial:
            self._end_line(self._clock.now())
        self._lines.append(LogLine(self._clock.now(), text))

    def take(self) -> tuple[LogLine, ...]:
        """All lines since the last call, with an unfinished one; the bound starts anew."""
        if self._partial:
            self._end_line(self._clock.now())
        lines, self._lines, self._bytes = tuple(self._lines), [], 0
        return lines

    def _collect(self, data: bytes, now: Instant) -> None:
        """Extend the current line. A line that gets too long is ended there."""
        self._partial += data
        while len(self._partial) > LINE_BYTES_MAX and not self.is_full:
            rest = self._partial[LINE_BYTES_MAX:]
            del self._partial[LINE_BYTES_MAX:]
            self._end_line(now)
            self._partial = rest

    def _end_line(self, now: Instant) -> None:
        line, self._partial = self._partial, bytearray()
        if self.is_full:
            return
        self._bytes += len(line) + LINE_OVERHEAD_BYTES
        self._lines.append(LogLine(now, _text(line) if self._bytes <= OUTPUT_BYTES_MAX else TRUNCATED))


def _text(line: bytes | bytearray) -> str:
    """A line as text. Runtimes separate the lines of one event by carriage returns, which logs show as line ends."""
    return line.decode("utf-8", "replace").removesuffix("\r").replace("\r", "\n")
