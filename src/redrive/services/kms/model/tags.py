"""The tags of keys.

Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_TagResource.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.kms import limits

_AWS_PREFIX = "aws:"


def merged_tags(present: Mapping[str, str], given: Sequence[Document]) -> dict[str, str]:
    """The tags after a request adds some. Errors: TagException."""
    added = {str(tag["TagKey"]): str(tag["TagValue"]) for tag in given}
    if len(added) != len(given):
        raise ServiceError("TagException", "Duplicate tag keys")
    if any(key.lower().startswith(_AWS_PREFIX) for key in added):
        raise ServiceError("TagException", "Tags beginning with aws: are reserved")
    tags = {**present, **added}
    if len(tags) > limits.TAGS_MAX:
        raise ServiceError("TagException", "Too many tags")
    return tags
