"""What a source asks for instead of an errand: a call of an operation, work of its own, or to be asked later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from redrive.core.clock import Instant
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


class Later(NamedTuple):
    """No attempt now: ask again at this instant. It counts as no attempt, and only the delivery's age bounds it."""

    at: Instant


class Inside(NamedTuple):
    """Work that the source does itself, in the transaction of the attempt. Its writes are rolled back if it fails.

    Errors of `perform`: ServiceError.
    """

    perform: Callable[[], Document]
