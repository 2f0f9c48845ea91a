"""What a function writes, cut into lines and bounded."""

from __future__ import annotations

from redrive.core.clock import Clock, Instant
from redrive.delivery.outside.invocation import LogLine

OUTPUT_BYTES_MAX = 1024 * 1024
LINE_BYTES_MAX = 256 * 1024
LINE_OVERHEAD_BYTES = 26
"""What a line counts besides its bytes, as in CloudWatch Logs: empty lines, too, are bounded.

Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
"""

TRUNCATED = "[output truncated: a run keeps 1 MB of what it writes]"


class Output:
    """Collects bytes into lines, each with the instant at which its end was seen."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._partial = bytearray()
        self._lines: list[LogLine] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether all that comes is dropped, until the lines are taken."""
        return self._bytes > OUTPUT_BYTES_MAX

    def feed(self, data: bytes) -> None:
        """Take bytes as they come. Beyond the bound all is dropped but one line that says so."""
        start, now = 0, self._clock.now()
        while not self.is_full and (end := data.find(b"\n", start)) >= 0:
            self._collect(data[start:end], now)
            self._end_line(now)
            start = end + 1
        if not self.is_full:
            self._collect(data[start:], now)

    def note(self, text: str) -> None:
        """Add a line of the environment's own, which is kept in any case."""
        if self._partial:
            self._end_line(self._clock.now())
        self._lines.append(LogLine(self._clock.now(), text))

    def take(self) -> tuple[LogLine, ...]:
        """All lines since the last time, an unfinished one included; the bound starts anew."""
        if self._partial:
            self._end_line(self._clock.now())
        lines, self._lines, self._bytes = tuple(self._lines), [], 0
        return lines

    def _collect(self, data: bytes, now: Instant) -> None:
        """Go on with a line. One that gets too long is ended where it is."""
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
    """A line as text. Runtimes part the lines of one event with carriage returns, and logs show them as line ends."""
    return line.decode("utf-8", "replace").removesuffix("\r").replace("\r", "\n")
