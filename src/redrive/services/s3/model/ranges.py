"""Ranges of bytes that reads ask for.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.errors import ServiceError
from redrive.services.s3.model.errors import invalid_argument, invalid_request
from redrive.services.s3.model.record import Part

_RANGE = re.compile(r"bytes=(?:(\d+)-(\d*)|-(\d+))", re.ASCII)
_COPY_RANGE = re.compile(r"bytes=(\d+)-(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Span:
    """`size` bytes from byte `first` on, of an object of `total` bytes."""

    first: int
    size: int
    total: int

    @property
    def header(self) -> str:
        """The value of Content-Range."""
        return f"bytes {self.first}-{self.first + self.size - 1}/{self.total}"


def span_of(text: str, total: int) -> Span | None:
    """The bytes that a Range header asks for; None if its form means nothing, and so the whole object.

    Errors: InvalidRange.
    """
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return None
    first_text, last_text, suffix = found.groups()
    if suffix is not None:
        size = min(int(suffix), total)
        if not size:
            raise _not_satisfiable(text, total)
        return Span(total - size, size, total)
    first = int(first_text)
    last = int(last_text) if last_text else total - 1
    if last_text and last < first:
        return None
    if first >= total:
        raise _not_satisfiable(text, total)
    return Span(first, min(last, total - 1) - first + 1, total)


def copy_span(text: str, total: int) -> Span:
    """The bytes that the header of UploadPartCopy asks for. Errors: InvalidArgument; InvalidRequest."""
    name = "x-amz-copy-source-range"
    found = _COPY_RANGE.fullmatch(text)
    if found is None or int(found[2]) < int(found[1]):
        message = (
            f"The {name} value must be of the form bytes=first-last "
            "where first and last are the zero-based offsets of the first and last bytes to copy"
        )
        raise invalid_argument(message, name, text)
    first, last = int(found[1]), int(found[2])
    if first >= total:
        raise invalid_request("The specified copy range is invalid for the source object size")
    if last >= total:
        raise invalid_argument(f"Range specified is not valid for source object of size: {total}", name, text)
    return Span(first, last - first + 1, total)


def part_span(number: int, parts: Sequence[Part], total: int) -> Span:
    """The bytes of a part. An object without parts has one. Errors: InvalidPartNumber."""
    if not parts:
        if number != 1:
            raise _no_such_part(number, 1)
        return Span(0, total, total)
    first = 0
    for place, part in enumerate(parts, 1):
        # Parts of an object are counted from 1 without gaps, whatever their numbers were in the upload.
        if place == number:
            return Span(first, part.size, total)
        first += part.size
    raise _no_such_part(number, len(parts))


def _no_such_part(number: int, count: int) -> ServiceError:
    members = {"PartNumberRequested": str(number), "ActualPartCount": str(count)}
    message = "The requested partnumber is not satisfiable"
    return ServiceError("InvalidPartNumber", message, http_status=416, members=members)


def _not_satisfiable(text: str, total: int) -> ServiceError:
    members = {"RangeRequested": text, "ActualObjectSize": str(total)}
    return ServiceError("InvalidRange", "The requested range is not satisfiable", http_status=416, members=members)
