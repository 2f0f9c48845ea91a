"""A delivery that calls an operation of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from redrive.core.scope import Caller


class Call(NamedTuple):
    """An operation to run under this caller's permissions.

    `params` is called when the operation runs. Errors of `params`: ServiceError.
    """

    caller: Caller
    service: str
    operation: str
    params: Callable[[], Mapping[str, object]]
