"""Shared parts of IAM's requests and answers: errors, pages, tags."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.iam import limits

T = TypeVar("T")


def no_such_entity(message: str) -> ServiceError:
    """Build the error for an entity that does not exist."""
    return ServiceError("NoSuchEntityException", message)


def invalid_input(message: str) -> ServiceError:
    """Build the error for an invalid value."""
    return ServiceError("InvalidInputException", message)


def over_quota(quota: str, maximum: int) -> ServiceError:
    """Build the error for exceeding a quota, for example `PoliciesPerRole`."""
    return ServiceError("LimitExceededException", f"Cannot exceed quota for {quota}: {maximum}")


def page(
    found: Iterable[T], key: Callable[[T], str], marker: str | None, max_items: int | None
) -> tuple[Sequence[T], Document]:
    """Return one page of a list sorted by key, and the members of the answer that say whether more items follow.

    A marker is the key of the last item on the previous page. Errors: ValidationException for an invalid marker.
    """
    after = _read_marker(marker) if marker else None
    remaining = [item for item in sorted(found, key=key) if after is None or key(item) > after]
    size = max_items or limits.PAGE_ITEMS_DEFAULT
    if len(remaining) <= size:
        return remaining, {"IsTruncated": False}
    items = remaining[:size]
    return items, {"IsTruncated": True, "Marker": base64.b64encode(key(items[-1]).encode()).decode()}


def _read_marker(marker: str) -> str:
    try:
        return base64.b64decode(marker, validate=True).decode()
    except ValueError:
        raise ServiceError("ValidationException", f"Invalid Marker: {marker}") from None


def tagged(tags: Mapping[str, str], given: Sequence[Mapping[str, str]], owner: str) -> dict[str, str]:
    """Return the tags of a `Role` or `Policy` after adding tags. Keys that differ only in letter case are equal.

    Errors: InvalidInputException (a repeated key, or a key reserved for AWS); LimitExceededException.
    """
    added = {tag["Key"].lower(): (tag["Key"], tag["Value"]) for tag in given}
    if len(added) != len(given):
        raise invalid_input("Duplicate tag keys found. Please note that Tag keys are case insensitive.")
    if any(key.startswith("aws:") for key in added):
        raise invalid_input("aws: prefixed tag key names are not allowed for external use.")
    kept = {key: value for key, value in tags.items() if key.lower() not in added}
    result = kept | dict(added.values())
    if len(result) > limits.TAGS_MAX:
        raise over_quota(f"TagsPer{owner}", limits.TAGS_MAX)
    return result


def untagged(tags: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return the tags without these keys."""
    removed = {key.lower() for key in keys}
    return {key: value for key, value in tags.items() if key.lower() not in removed}


def tag_list(tags: Mapping[str, str]) -> list[Document]:
    """Convert tags to AWS's list form."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]
