"""Tags of objects.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_plus

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3 import limits
from redrive.services.s3.model.errors import invalid_argument

_ALLOWED = re.compile(r"[\w\s+\-=.:/@]*")


def tags_of_header(header: str | None) -> dict[str, str]:
    """The tags of the header `x-amz-tagging`. Errors: InvalidArgument; InvalidTag; BadRequest."""
    if not header:
        return {}
    tags: dict[str, str] = {}
    for pair in header.split("&"):
        name, _, value = pair.partition("=")
        try:
            key, text = unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")
        except UnicodeDecodeError:
            raise _bad_header(header) from None
        if not key or key in tags or "=" in value:
            raise _bad_header(header)
        tags[key] = text
    return checked_tags(tags)


def tags_of_set(given: Sequence[Document]) -> dict[str, str]:
    """The tags of a TagSet. Errors: InvalidTag; BadRequest."""
    tags = {str(tag["Key"]): str(tag["Value"]) for tag in given}
    if len(tags) != len(given):
        raise invalid_tag("Cannot provide multiple Tags with the same key")
    return checked_tags(tags)


def tag_set(tags: Mapping[str, str]) -> list[Document]:
    """The tags as AWS's answers have them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def checked_tags(tags: dict[str, str]) -> dict[str, str]:
    """The same tags, if an object may have them. Errors: InvalidTag; BadRequest."""
    if len(tags) > limits.OBJECT_TAGS_MAX:
        message = f"Object tags cannot be greater than {limits.OBJECT_TAGS_MAX}"
        raise ServiceError("BadRequest", message, http_status=400)
    for key, value in tags.items():
        if key.lower().startswith("aws:"):
            raise invalid_tag("Your TagKey cannot be prefixed with aws:")
        if not 0 < len(key) <= limits.TAG_KEY_LENGTH_MAX or not _ALLOWED.fullmatch(key):
            raise invalid_tag("The TagKey you have provided is invalid")
        if len(value) > limits.TAG_VALUE_LENGTH_MAX or not _ALLOWED.fullmatch(value):
            raise invalid_tag("The TagValue you have provided is invalid")
    return tags


def invalid_tag(message: str) -> ServiceError:
    """The error for a tag that S3 does not take."""
    return ServiceError("InvalidTag", message, http_status=400)


def _bad_header(header: str) -> ServiceError:
    message = (
        "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters "
        "without tag name duplicates."
    )
    return invalid_argument(message, "x-amz-tagging", header)
