"""What a function writes, cut into lines and bounded."""

from __future__ import annotations

from redrive.core.clock import Clock
from redrive.delivery.invocation import LogLine

OUTPUT_BYTES_MAX = 1024 * 1024
LINE_BYTES_MAX = 256 * 1024

TRUNCATED = "[output truncated: a run keeps 1 MB of what it writes]"


class Output:
    """Collects bytes into lines, each with the instant at which its end was seen."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._partial = bytearray()
        self._lines: list[LogLine] = []
        self._bytes = 0

    def feed(self, data: bytes) -> None:
        """Take bytes as they come. Beyond the bound all is dropped but one line that says so."""
        self._partial += data
        *whole, rest = self._partial.split(b"\n")
        self._partial = rest
        for line in whole:
            self.add(_text(line))
        if len(self._partial) > LINE_BYTES_MAX:
            self.add(_text(self._partial))
            self._partial = bytearray()

    def add(self, text: str) -> None:
        """Add a whole line."""
        if self._bytes > OUTPUT_BYTES_MAX:
            return
        self._bytes += len(text.encode()) + 1
        kept = text if self._bytes <= OUTPUT_BYTES_MAX else TRUNCATED
        self._lines.append(LogLine(self._clock.now(), kept))

    def take(self) -> tuple[LogLine, ...]:
        """All lines since the last time, an unfinished one included; the bound starts anew."""
        if self._partial:
            self.add(_text(self._partial))
            self._partial = bytearray()
        lines, self._lines, self._bytes = tuple(self._lines), [], 0
        return lines


def _text(line: bytes | bytearray) -> str:
    """A line as text. Runtimes part the lines of one event with carriage returns, and logs show them as line ends."""
    return line.decode("utf-8", "replace").removesuffix("\r").replace("\r", "\n")
