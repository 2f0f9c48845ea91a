"""Values that break readers: texts, numbers, bytes, trees, and spellings that only a protocol's own writer can say."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

TEXTS = (
    "", " ", "a", "A1", "\0", "a\0b", "\n", "\r\n", "\t", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff", "\uffff",
    "\ud800", "a\udfffb", "\udc80", "𝄞", "👩\u200d👩\u200d👧", "e\u0301" * 40, "\u202eabc\u202c", "שלום", "ﷺ" * 20,
    "İ", "ß", "ſ", "٣", "１２", "²", "null", "true", "None", "NaN", "Infinity", "-0", "1e400", "0x10", "1_000", "+1",
    "9" * 30, "../../etc/passwd", "%00", "%zz", "%u0041", "${a}", "${", "{{", "}}", "$", "$.", "*", "?", "[", "(", "\\",
    '"', "'", "'; DROP TABLE messages; --", "<a>&amp;</a>", "]]>", "<![CDATA[", ":", "::::::", "arn:", "arn:aws:sqs",
    "arn:aws:sqs:us-east-1:000000000000:orders", "arn:aws:iam::000000000000:role/worker", "arn:aws:x:y:z:" + "a" * 200,
    "http://", "http://localhost/000000000000/orders", "https://[::1", "http://x:99999999/", "{}", "[]", '{"a":1}',
    '{"a":', "[" * 300, '{"a":' * 300, "0" * 64, "2025-01-01T00:00:00Z", "2025-02-30T25:61:61Z", "0000-00-00",
    "9999-12-31T23:59:59.999999999Z", "-1", "1735689600", "1735689600.123", "253402300800",
    "Wed, 01 Jan 2025 00:00:00 GMT",
    "2025-01-01T00:00:00+99:99", "UTC", "Europe/Paris", "../UTC", "rate(1 minute)", "cron(* * * * ? *)",
    "at(2025-01-01T00:00:00)",
)  # fmt: skip
SIZES = (127, 128, 129, 255, 256, 257, 1_023, 1_024, 1_025, 2_048, 4_096, 65_536)
NUMBERS = (
    0, 1, -1, 2, 9, 10, 11, 12, 60, 100, 101, 1_000, 3_600, 43_200, 43_201, 86_400, 2**31 - 1, 2**31, -(2**31), 2**53,
    2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30, 1_735_689_600, 253_402_300_800, 1e18, 1.5, -0.0, 1e-300, 1e308,
    62_135_596_801, -62_135_596_801,
)  # fmt: skip
LITERALS = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 400, "1" * 5_000, "0." + "1" * 5_000, "1E+2", "-0", "1.0",
    "01", "tru", "", '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\x"', '"', "[" * 150 + "]" * 150,
    "[" * 5_000 + "]" * 5_000, '{"a":' * 150 + "1" + "}" * 150, '{"a":1,"a":2}', '{"":""}', "{,}", "[1,]", "1 2",
    "/**/1",
)  # fmt: skip


class Moment(int):
    """An instant in seconds, which CBOR tags as such."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A spelling of JSON that stands where a value should. Other protocols send it as a text."""

    text: str


class Draw(random.Random):
    """Draws from a seed. The same seed draws the same."""

    def chance(self, share: float) -> bool:
        """True so often, from 0 to 1."""
        return self.random() < share

    def text(self) -> str:
        """A text that somebody may not have thought of."""
        match self.randrange(6):
            case 0 | 1 | 2:
                return self.choice(TEXTS)
            case 3:
                return self.choice("aé𝄞\0 /") * self.choice(SIZES)
            case 4:
                return "".join(self.choices(string.printable, k=self.randrange(12)))
            case _:
                return "".join(chr(self.randrange(0x110000)) for _ in range(self.randrange(6)))

    def number(self) -> int | float:
        """A number at some edge."""
        number = self.choice(NUMBERS)
        return number + self.randrange(-1, 2) if self.chance(0.2) else number

    def anything(self, depth: int = 0) -> object:
        """A value of any type."""
        match self.randrange(12 if depth < 3 else 9):
            case 0 | 1 | 2:
                return self.text()
            case 3 | 4:
                return self.number()
            case 5:
                return self.choice((True, False, None))
            case 6:
                return self.randbytes(self.randrange(20))
            case 7:
                return Literal(self.choice(LITERALS))
            case 8:
                return self.choice(({}, [], "", 0))
            case 9 | 10:
                return [self.anything(depth + 1) for _ in range(self.randrange(4))]
            case _:
                return {self.text(): self.anything(depth + 1) for _ in range(self.randrange(4))}

    def changed(self, data: bytes, others: Sequence[bytes] = ()) -> bytes:
        """Bytes with some of them flipped, cut, doubled, moved, or mixed with others of their kind."""
        for _ in range(self.randrange(1, 4)):
            start = self.randrange(len(data) + 1)
            end = min(len(data), start + self.choice((0, 1, 1, 2, 4, 16, 64, 1_000)))
            data = data[:start] + self._instead(data[start:end], others) + data[end:]
        return data

    def _instead(self, piece: bytes, others: Sequence[bytes]) -> bytes:
        match self.randrange(7):
            case 0:
                return b""
            case 1:
                return piece * self.choice((2, 3, 50))
            case 2:
                return self.randbytes(len(piece))
            case 3:
                return piece[::-1]
            case 4:
                return bytes(byte ^ (1 << self.randrange(8)) for byte in piece)
            case 5 if others:
                other = self.choice(others)
                start = self.randrange(len(other) + 1)
                return other[start : start + self.randrange(40)]
            case _:
                return self.choice(
                    (b"\0", b"\xff", b"\r\n", b"\n", b" ", b'"', b"%", b"&", b"=", b".", b"{", b"9" * 20)
                )

    def one_of(self, *choices: T) -> T:
        """One of these."""
        return self.choice(choices)
