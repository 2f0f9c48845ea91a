"""Tags of machines and activities.

Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TagResource.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.stepfunctions.limits import TAGS_MAX


def merged_tags(present: Mapping[str, str], given: Sequence[Document] | None, arn: str) -> dict[str, str]:
    """The tags after a request adds some. A tag with an existing key replaces the old tag. Errors: TooManyTags."""
    tags = {**present, **{str(tag.get("key", "")): str(tag.get("value", "")) for tag in given or ()}}
    if len(tags) > TAGS_MAX:
        raise ServiceError(
            "TooManyTags", f"A resource can have no more than {TAGS_MAX} tags.", members={"resourceName": arn}
        )
    return tags


def shown_tags(tags: Mapping[str, str]) -> list[Document]:
    """Tags as answers show them, sorted by key."""
    return [{"key": key, "value": tags[key]} for key in sorted(tags)]
