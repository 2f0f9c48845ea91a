"""The parameters of an operation as one document: operations on objects have up to fifty, and hand most of them on."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document

_NOT_PARAMETERS = frozenset({"tx", "caller"})


def params_of(names: Mapping[str, object]) -> Document:
    """The parameters that a request has, of `locals()` at the beginning of an operation."""
    return {name: value for name, value in names.items() if value is not None and name not in _NOT_PARAMETERS}
