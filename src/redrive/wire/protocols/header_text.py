"""Texts in headers beyond ASCII. The server reads each byte of a head as one character; clients of S3 mean UTF-8.

So a text goes through as the bytes that were sent. Encoded words (RFC 2047) in user metadata are the service's matter.
Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html#UserMetadata
"""

from __future__ import annotations


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
