"""Formats of dates as Java's DateTimeFormatter has them, in English: `yyyy-MM-dd'T'HH:mm:ss.SSSXXX`.

Source: https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/time/format/DateTimeFormatter.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from redrive.languages.log_transform.documents import MalformedTransformer

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z'])")
_LETTERS = "yuMLdEHhkKmsSanXxZzOV"


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A format: literal texts, and letters with how often each stands."""

    parts: tuple[str | tuple[str, int], ...]
    _pattern: re.Pattern[str]

    def read(self, text: str) -> datetime | None:
        """The instant of a text, without a zone where it has none; None if the text does not fit."""
        match = self._pattern.fullmatch(text.strip())
        if match is None:
            return None
        try:
            return _instant({name: value for name, value in match.groupdict().items() if value is not None})
        except (ValueError, OverflowError):
            return None

    def written(self, at: datetime) -> str:
        """An instant in this format."""
        return "".join(part if isinstance(part, str) else _shown(part[0], part[1], at) for part in self.parts)


def read_date_format(text: str) -> DateFormat:
    """The format of a text; `epoch` is seconds since 1970. Errors: MalformedTransformer."""
    parts: list[str | tuple[str, int]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (match[3] is not None and match[3] not in _LETTERS):
            raise MalformedTransformer(f"dateTimeConverter: {text} is no date format that redrive knows")
        at = match.end()
        if match[1] is not None:
            parts.append(match[1].replace("''", "'") or "'")
        elif match[2] is not None:
            parts.append((match[3], len(match[2])))
        else:
            parts.append(match[4])
    return DateFormat(tuple(parts), re.compile(_expression(parts), re.ASCII))


def _expression(parts: list[str | tuple[str, int]]) -> str:
    seen: set[str] = set()
    made = []
    for part in parts:
        if isinstance(part, str):
            made.append(re.escape(part))
            continue
        name, expression = _field(*part)
        made.append(f"(?:{expression})" if name in seen else f"(?P<{name}>{expression})")
        seen.add(name)
    return "".join(made)


def _field(letter: str, count: int) -> tuple[str, str]:
    """A field's name, and what its text looks like. No two of them can be confused, so reading takes linear time."""
    match letter:
        case "y" | "u":
            return ("year2", r"\d{2}") if count == 2 else ("year", rf"\d{{{max(count, 4)}}}")
        case "M" | "L" if count >= 3:
            return "month_name", "|".join(_MONTHS if count >= 4 else (name[:3] for name in _MONTHS))
        case "M" | "L":
            return "month", r"\d{2}" if count == 2 else r"\d{1,2}"
        case "E":
            return "weekday", "|".join(_DAYS if count >= 4 else (name[:3] for name in _DAYS))
        case "S":
            return "fraction", rf"\d{{{count}}}"
        case "n":
            return "nanos", r"\d{1,9}"
        case "a":
            return "half", r"[AaPp][Mm]"
        case "X" | "x" | "Z" | "O":
            return "offset", r"Z|(?:GMT|UTC)?[+-]\d{2}:?\d{2}|[+-]\d{2}|GMT|UTC"
        case "z" | "V":
            return "zone", r"UTC|GMT|Z"
        case _:
            names = {"d": "day", "H": "hour", "k": "hour", "h": "hour12", "K": "hour12", "m": "minute", "s": "second"}
            return names[letter], r"\d{2}" if count == 2 else r"\d{1,2}"


def _instant(found: Mapping[str, str]) -> datetime:
    year = int(found["year"]) if "year" in found else 2000 + int(found["year2"]) if "year2" in found else 1970
    month = int(found.get("month", 1))
    if "month_name" in found:
        month = 1 + [name[:3] for name in _MONTHS].index(found["month_name"][:3])
    hour = int(found.get("hour", 0)) % 24
    if "hour12" in found:
        hour = int(found["hour12"]) % 12 + (12 if found.get("half", "AM").upper() == "PM" else 0)
    micros = int(found["fraction"].ljust(6, "0")[:6]) if "fraction" in found else int(found.get("nanos", 0)) // 1000
    zone = UTC if "zone" in found else _offset(found["offset"]) if "offset" in found else None
    day, minute, second = int(found.get("day", 1)), int(found.get("minute", 0)), int(found.get("second", 0))
    return datetime(year, month, day, hour, minute, min(second, 59), micros, zone)


def _offset(text: str) -> tzinfo:
    digits = re.sub(r"[^\d]", "", text)
    if not digits:
        return UTC
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-offset if "-" in text else offset)


def _shown(letter: str, count: int, at: datetime) -> str:
    match letter:
        case "y" | "u":
            return f"{at.year % 100:02}" if count == 2 else f"{at.year:0{count}}"
        case "M" | "L":
            name = _MONTHS[at.month - 1]
            return name if count >= 4 else name[:3] if count == 3 else f"{at.month:0{count}}"
        case "E":
            name = _DAYS[at.weekday()]
            return name if count >= 4 else name[:3]
        case "S":
            return f"{at.microsecond:06}".ljust(count, "0")[:count]
        case "n":
            return str(at.microsecond * 1000)
        case "a":
            return "AM" if at.hour < 12 else "PM"
        case "z" | "V":
            return at.tzname() or "UTC"
        case "X" | "x" | "Z" | "O":
            return _shown_offset(letter, count, at)
        case _:
            hour12 = (at.hour - 1) % 12 + 1
            values = {
                "d": at.day, "H": at.hour, "k": at.hour or 24, "h": hour12, "K": at.hour % 12, "m": at.minute,
                "s": at.second,
            }  # fmt: skip
            return f"{values[letter]:0{count}}"


def _shown_offset(letter: str, count: int, at: datetime) -> str:
    minutes = round((at.utcoffset() or timedelta()).total_seconds()) // 60
    if minutes == 0 and (letter == "X" or (letter == "Z" and count == 5)):
        return "Z"
    sign, whole, rest = "-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60
    if letter == "O":
        return f"GMT{sign}{whole}" + (f":{rest:02}" if rest else "") if minutes else "GMT"
    if letter in "Xx" and count == 1 and rest == 0:
        return f"{sign}{whole:02}"
    has_colon = count in (3, 5)
    return f"{sign}{whole:02}{':' if has_colon else ''}{rest:02}"
