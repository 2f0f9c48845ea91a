"""The source of a copy, as its header names it.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from redrive.services.s3.model.errors import invalid_argument

_VERSION = "?versionId="


@dataclass(frozen=True, slots=True)
class CopySource:
    """An object that is copied."""

    bucket: str
    key: str
    version_id: str | None = None


def copy_source_of(header: str) -> CopySource:
    """The source that `[/]bucket/key[?versionId=id]` names. Errors: InvalidArgument."""
    path, _, version_id = header.partition(_VERSION)
    try:
        bucket, _, key = unquote(path, errors="strict").removeprefix("/").partition("/")
    except UnicodeDecodeError:
        bucket = key = ""
    if not bucket or not key or (_VERSION in header and not version_id):
        raise invalid_argument("Invalid copy source object key", "x-amz-copy-source", header)
    return CopySource(bucket, key, unquote(version_id) or None)
