"""Pages of listings: which keys are next, and how keys are grouped under common prefixes.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-prefixes.html
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from redrive.services.s3 import limits
from redrive.services.s3.model.errors import invalid_argument

Encode = Callable[[str], str]
"""How an answer writes keys and prefixes."""

_CODE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listing begins: at a key, or after it."""

    key: bytes
    is_after: bool


@dataclass(frozen=True, slots=True)
class Grouping:
    """The keys that a listing shows: those with a prefix; what follows it up to a delimiter is a common prefix."""

    prefix: bytes = b""
    delimiter: bytes = b""

    def common_prefix(self, key: bytes) -> bytes | None:
        """The common prefix that stands for a key, or None if the key stands for itself."""
        if not self.delimiter or not key.startswith(self.prefix):
            return None
        end = key.find(self.delimiter, len(self.prefix))
        return None if end < 0 else key[: end + len(self.delimiter)]

    def beginning(self, marker: bytes) -> Place:
        """Where a listing begins that follows a marker. A marker under a common prefix skips all keys under it."""
        common = self.common_prefix(marker) if marker else None
        if common is not None:
            return Place(after_prefix(common), is_after=False)
        if marker >= self.prefix and marker:
            return Place(marker, is_after=True)
        return Place(self.prefix, is_after=False)


def after_prefix(prefix: bytes) -> bytes:
    """A key after all keys that begin with a prefix: UTF-8 has no such byte."""
    return prefix + b"\xff"


def page_size(asked: int | None, name: str) -> int:
    """How many entries a page may have. Errors: InvalidArgument."""
    if asked is None:
        return limits.LIST_PAGE
    if asked < 0:
        raise invalid_argument(f"Argument {name} must be an integer between 0 and 2147483647", name, str(asked))
    return min(asked, limits.LIST_PAGE)


def encoder_of(encoding_type: str | None) -> Encode:
    """How an answer writes keys and prefixes. Errors: InvalidArgument."""
    if encoding_type is None:
        return str
    if encoding_type != "url":
        message = "Invalid Encoding Method specified in Request"
        raise invalid_argument(message, "encoding-type", encoding_type)
    return _quoted


def encode_token(last: bytes) -> str:
    """The continuation token of a page that ends with this key or common prefix."""
    return base64.urlsafe_b64encode(_code(last) + last).decode()


def decode_token(token: str) -> bytes:
    """The key or common prefix that a page has ended with. Errors: InvalidArgument."""
    try:
        content = base64.b64decode(token.encode("ascii"), b"-_", validate=True)
    except ValueError:
        content = b""
    code, last = content[:_CODE_BYTES], content[_CODE_BYTES:]
    if len(code) < _CODE_BYTES or code != _code(last):
        raise invalid_argument("The continuation token provided is incorrect", "continuation-token", token)
    return last


def chunk_sizes(limit: int) -> Iterator[int]:
    """How many rows to read at once where keys may be skipped: few first. 8, 16, 32 … up to `limit`."""
    size = min(8, limit)
    while True:
        yield size
        size = min(2 * size, limit)


def _code(last: bytes) -> bytes:
    return hashlib.sha256(b"s3-page:" + last).digest()[:_CODE_BYTES]


def _quoted(text: str) -> str:
    return quote(text, safe="/*-._", errors="surrogatepass").replace("%20", "+")
