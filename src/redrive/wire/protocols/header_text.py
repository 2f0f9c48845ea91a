"""Texts in headers beyond ASCII. The server reads each byte of a head as one character; clients of S3 mean UTF-8.

System metadata (Cache-Control, Content-Disposition) come back as the bytes that were sent. User metadata may come as
encoded words (RFC 2047), and are sent so if they are not plain ASCII.
Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html#UserMetadata
"""

from __future__ import annotations

from email.errors import HeaderParseError
from email.header import Header, decode_header, make_header

_LINE_MAX = 100_000
"""Longer than any header, so that no value is folded."""


def read_text(text: str) -> str:
    """The text of a header: UTF-8 if the bytes are that, else a character for each byte."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def write_text(text: str) -> str:
    """A text as the server sends it, a character for each byte. Line ends would be further headers."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("latin-1")
    return text.replace("\r", " ").replace("\n", " ") if "\n" in text or "\r" in text else text


def read_metadata(text: str) -> str:
    """The value of user metadata, with its encoded words decoded."""
    text = read_text(text)
    if "=?" not in text:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return text


def write_metadata(text: str) -> str:
    """The value of user metadata: as it is, or as one encoded word."""
    if text.isascii():
        return write_text(text)
    return Header(text, "utf-8", maxlinelen=_LINE_MAX).encode(linesep="")
