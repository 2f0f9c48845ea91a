"""Tags of tables, with AWS's checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import invalid

_RESERVED_PREFIX = "aws:"


class Tag(TypedDict):
    """A member of Tags."""

    Key: str
    Value: str


def merge_tags(tags: Mapping[str, str], added: Sequence[Tag]) -> dict[str, str]:
    """Return the tags after adding these. Errors: ValidationException (reserved, repeated, more than 50)."""
    new = {tag["Key"]: tag["Value"] for tag in added}
    if len(new) != len(added):
        raise invalid("Duplicate keys found in tags")
    for key in new:
        if key.lower().startswith(_RESERVED_PREFIX):
            raise invalid(f"aws: prefixed tag key names are not allowed for external use: {key}")
    merged = {**tags, **new}
    if len(merged) > limits.TAGS_MAX:
        raise invalid(f"One or more parameter values were invalid: a table has at most {limits.TAGS_MAX} tags")
    return merged
