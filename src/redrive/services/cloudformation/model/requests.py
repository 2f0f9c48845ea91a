"""Shared parts of requests: names, pages, and settings that redrive does not support."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from redrive.core.documents import Document
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.templates import validation_error

T = TypeVar("T")

_STACK_NAME = re.compile(r"[a-zA-Z][-a-zA-Z0-9]*")


def check_stack_name(name: str) -> None:
    """Refuse an invalid stack name. Errors: ValidationError."""
    if not _STACK_NAME.fullmatch(name):
        problem = f"Member must satisfy regular expression pattern: {_STACK_NAME.pattern}"
    elif len(name) > limits.STACK_NAME_LENGTH_MAX:
        problem = f"Member must have length less than or equal to {limits.STACK_NAME_LENGTH_MAX}"
    else:
        return
    raise validation_error(
        f"1 validation error detected: Value '{name}' at 'stackName' failed to satisfy constraint: {problem}"
    )


def refuse_given(**asked: object) -> None:
    """Refuse unsupported settings, by name. Errors: ValidationError."""
    for name, value in asked.items():
        if value:
            raise validation_error(f"{name} is not supported.")


def tags_of(tags: Sequence[Document] | None) -> dict[str, str]:
    """Convert a request's tags to a mapping."""
    return {tag["Key"]: tag["Value"] for tag in tags or ()}


def page(items: Sequence[T], key: Callable[[T], str], token: str | None) -> tuple[Sequence[T], Document]:
    """Return the page of items after the one that the token names, and the token of the next page.

    Errors: ValidationError for an invalid token.
    """
    start = 0
    if token is not None:
        ends = [index for index, item in enumerate(items) if key(item) == token]
        if not ends:
            raise validation_error("NextToken is not valid.")
        start = ends[0] + 1
    shown = items[start : start + limits.PAGE_ITEMS_MAX]
    more = start + len(shown) < len(items)
    return shown, {"NextToken": key(shown[-1])} if more else {}


def without_empty(document: Document) -> Document:
    """Return a document without its empty members: None, empty texts and empty objects."""
    return {name: value for name, value in document.items() if value is not None and value not in ("", {})}
