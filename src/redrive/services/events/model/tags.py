"""Tags of buses and rules.

Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_TagResource.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.services.events import limits
from redrive.services.events.model.requests import invalid

_AWS_PREFIX = "aws:"


def merged_tags(present: Mapping[str, str], given: Sequence[Document] | None) -> dict[str, str]:
    """The tags after a request adds some. A tag with an existing key replaces the old tag.

    Errors: ValidationException (more than 50 tags, a repeated key, or a key reserved for AWS).
    """
    added = {str(tag["Key"]): str(tag["Value"]) for tag in given or ()}
    if len(added) != len(given or ()):
        raise invalid("Tag keys must be unique.")
    if any(key.lower().startswith(_AWS_PREFIX) for key in added):
        raise invalid("Tag keys must not begin with aws:.")
    tags = {**present, **added}
    if len(tags) > limits.TAGS_MAX:
        raise invalid(f"A resource can have no more than {limits.TAGS_MAX} tags.")
    return tags


def shown_tags(tags: Mapping[str, str]) -> list[Document]:
    """Tags as answers show them, sorted by key."""
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]
