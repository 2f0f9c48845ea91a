"""What a request over HTTP is made of: headers, and a URL with its query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_FRAMING = frozenset({"connection", "content-length", "host", "transfer-encoding"})
"""Headers that belong to the connection itself: a parameter cannot set them."""


class Headers:
    """Headers of a request. A later header replaces an earlier one of the same name, whatever its case."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = {name.lower(): (name, value) for name, value in headers.items()}

    def add_all(self, headers: Iterable[tuple[str, str]]) -> None:
        """Add headers, except those that belong to the connection itself."""
        for name, value in headers:
            if name.lower() not in _FRAMING:
                self._headers[name.lower()] = (name, value)

    def as_pairs(self) -> tuple[tuple[str, str], ...]:
        """The headers as (name, value), in the order in which their names were first added."""
        return tuple(self._headers.values())


def is_writable(value: str) -> bool:
    """Whether a value fits into a header: visible characters of ASCII, blanks and tabs."""
    return value.isascii() and value.replace("\t", " ").isprintable()


def with_query(endpoint: str, query: Mapping[str, str | list[str]]) -> str:
    """An endpoint with query parameters; one of the endpoint's own is replaced by a parameter of the same name.

    A list stands for a parameter that is repeated.
    """
    if not query:
        return endpoint
    url = urlsplit(endpoint)
    own = [(name, value) for name, value in parse_qsl(url.query, keep_blank_values=True) if name not in query]
    text = urlencode([*own, *query.items()], doseq=True, quote_via=quote)
    return url._replace(query=text).geturl()
