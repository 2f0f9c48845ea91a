"""Tags of streams and consumers: which tags are valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redrive.core.documents import Document
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.requests import invalid_argument

_RESERVED_PREFIX = "aws:"


def merge_tags(tags: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return the tags after adding these. Errors: InvalidArgumentException (reserved, more than 50)."""
    for key, value in added.items():
        if not 1 <= len(key) <= limits.TAG_KEY_LENGTH_MAX or len(value) > limits.TAG_VALUE_LENGTH_MAX:
            raise invalid_argument("Tag keys have 1 to 128 characters, and tag values have at most 256.")
        if key.lower().startswith(_RESERVED_PREFIX):
            raise invalid_argument(f"Tag key {key} is reserved: keys that begin with aws: belong to AWS.")
    merged = {**tags, **added}
    if len(merged) > limits.TAGS_MAX:
        raise invalid_argument(
            f"Failed to add tags to stream because a given stream cannot have more than {limits.TAGS_MAX} tags "
            "associated with it."
        )
    return merged


def remove_tags(tags: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return the tags without these keys; a key that is not there is no error."""
    return {key: value for key, value in tags.items() if key not in set(keys)}


def describe_tags(tags: Mapping[str, str]) -> list[Document]:
    """Tags as AWS lists them, sorted by key."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
