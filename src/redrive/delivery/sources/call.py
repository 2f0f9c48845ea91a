"""A delivery that is an operation of a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from redrive.core.scope import Caller


class Call(NamedTuple):
    """An operation to run as the delivery: under this caller's permissions.

    `params` is asked for when the operation is run. Errors (of `params`): ServiceError.
    """

    caller: Caller
    service: str
    operation: str
    params: Callable[[], Mapping[str, object]]
