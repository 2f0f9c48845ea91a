"""Tags of buckets: which are valid.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/CostAllocTagging.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.limits import BUCKET_TAGS_MAX, TAG_KEY_LENGTH_MAX, TAG_VALUE_LENGTH_MAX

_CHARACTERS = re.compile(r"[\w\s+=._:/@-]*")


def read_bucket_tags(given: Sequence[Document]) -> dict[str, str]:
    """The tags of a bucket, from a TagSet. Errors: InvalidTag; BadRequest (too many)."""
    tags: dict[str, str] = {}
    for tag in given:
        key, value = str(tag["Key"]), str(tag["Value"])
        if not 1 <= len(key) <= TAG_KEY_LENGTH_MAX or not _CHARACTERS.fullmatch(key):
            raise _invalid("The TagKey you have provided is invalid", key)
        if len(value) > TAG_VALUE_LENGTH_MAX or not _CHARACTERS.fullmatch(value):
            raise _invalid("The TagValue you have provided is invalid", key, value)
        if key.lower().startswith("aws:"):
            raise _invalid("System tags cannot be added/updated by requester", key)
        if key in tags:
            raise _invalid("Cannot provide multiple Tags with the same key", key)
        tags[key] = value
    if len(tags) > BUCKET_TAGS_MAX:
        message = f"Bucket tag count cannot be greater than {BUCKET_TAGS_MAX}"
        raise ServiceError("BadRequest", message, http_status=400)
    return tags


def shown_tags(tags: Mapping[str, str]) -> list[Document]:
    """Tags as a TagSet."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _invalid(message: str, key: str, value: str | None = None) -> ServiceError:
    members = {"TagKey": key, **({} if value is None else {"TagValue": value})}
    return ServiceError("InvalidTag", message, http_status=400, members=members)
