"""Processors that change the types of values: typeConverter and dateTimeConverter."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from redrive.core.documents import Document, dump_json
from redrive.languages.log_transform.date_formats import DateFormat, read_date_format
from redrive.languages.log_transform.documents import MalformedTransformer, NotFitting, Transformed, read_path
from redrive.languages.log_transform.mutators import each
from redrive.languages.log_transform.parsers import Processor

DEFAULT_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
_LOCALES = ("ROOT", "en", "en-US", "en_US", "en-GB", "en_GB", "und")


def type_converter(settings: Document) -> Processor:
    """Make integers, doubles, booleans and texts of values. What is none stays as it is."""

    def step(entry: Document) -> Processor:
        path, convert = read_path(str(entry["key"]), "typeConverter.key"), _TYPES[str(entry["type"])]
        return lambda event: event.put(path, convert(event.get(path)), overwrite=True)

    return each([step(entry) for entry in settings["entries"]])


def date_time_converter(settings: Document) -> Processor:
    """Write an instant in another format. It is read by the first pattern that its text fits."""
    source = read_path(str(settings["source"]), "dateTimeConverter.source")
    target = read_path(str(settings["target"]), "dateTimeConverter.target")
    patterns = [read_date_format(str(pattern)) for pattern in settings["matchPatterns"]]
    shown = read_date_format(str(settings.get("targetFormat", DEFAULT_FORMAT)))
    from_zone = _zone(str(settings.get("sourceTimezone", "UTC")), "sourceTimezone")
    to_zone = _zone(str(settings.get("targetTimezone", "UTC")), "targetTimezone")
    if settings.get("locale", "ROOT") not in _LOCALES:
        raise MalformedTransformer("dateTimeConverter.locale: redrive knows English names of months and days only")

    def run(event: Transformed) -> None:
        at = _read(event.text(source), patterns, from_zone)
        event.put(target, shown.written(at.astimezone(to_zone)), overwrite=True)

    return run


def _read(text: str, patterns: list[DateFormat], zone: tzinfo) -> datetime:
    for pattern in patterns:
        found = pattern.read(text)
        if found is not None:
            return found if found.tzinfo is not None else found.replace(tzinfo=zone)
    raise NotFitting


def _zone(text: str, name: str) -> tzinfo:
    if text in ("UTC", "Z", "GMT"):
        return UTC
    sign, digits = text.removeprefix("UTC").removeprefix("GMT")[:1], text[-5:].lstrip("+-").replace(":", "")
    if sign in ("+", "-") and len(digits) == 4 and digits.isdecimal():
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        raise MalformedTransformer(f"dateTimeConverter.{name} {text} is no time zone") from None


def _integer(value: object) -> object:
    number = _double(value)
    return int(number) if isinstance(number, float) and not isinstance(value, int) else _kept(value)


def _double(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise NotFitting
    try:
        number = float(value)
    except ValueError:
        raise NotFitting from None
    if not math.isfinite(number):
        raise NotFitting
    return number


def _kept(value: object) -> object:
    if isinstance(value, bool):
        raise NotFitting
    return value


def _boolean(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise NotFitting


def _string(value: object) -> object:
    return value if isinstance(value, str) else dump_json(value)


_TYPES: dict[str, Callable[[object], object]] = {
    "integer": _integer, "double": _double, "boolean": _boolean, "string": _string
}  # fmt: skip

CONVERTERS: dict[str, Callable[[Document], Processor]] = {
    "typeConverter": type_converter, "dateTimeConverter": date_time_converter
}  # fmt: skip
