"""A delivery that calls an operation of a service, or that its source performs itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from redrive.core.documents import Document
from redrive.core.scope import Caller


class Call(NamedTuple):
    """An operation to run under this caller's permissions.

    `params` is called when the operation runs. Errors of `params`: ServiceError.
    """

    caller: Caller
    service: str
    operation: str
    params: Callable[[], Mapping[str, object]]


class Inside(NamedTuple):
    """Work that the source does itself, in the transaction of the attempt. Its writes are rolled back if it fails.

    Errors of `perform`: ServiceError.
    """

    perform: Callable[[], Document]
