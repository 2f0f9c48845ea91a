"""The parameters of an operation as one document: operations on objects have up to fifty, and hand most of them on."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document
from redrive.services.s3.model.errors import invalid_argument

_NOT_PARAMETERS = frozenset({"tx", "caller"})


def params_of(names: Mapping[str, object]) -> Document:
    """The parameters that a request has, of `locals()` at the beginning of an operation.

    Errors: InvalidArgument (a text that no store can hold; only JSON of other services can bring such a text).
    """
    given = {name: value for name, value in names.items() if value is not None and name not in _NOT_PARAMETERS}
    for name, value in given.items():
        if type(value) is str and not value.isascii():
            storable(value, name)
    return given


def storable(text: str, name: str) -> str:
    """The same text, if it has no half of a pair of surrogates. Errors: InvalidArgument."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_argument("The text is not valid Unicode.", name, ascii(text)) from None
    return text
