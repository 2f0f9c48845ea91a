"""Waiters of services whose answers are made up: the state that they wait for has come when they first ask.

A waiter of a service that the engine has asks as often as anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from botocore.waiter import Waiter, is_valid_waiter_error

from redrive.prove.process.surroundings import replaced


def ended_waiters(is_made_up: Callable[[str], bool]) -> AbstractContextManager[None]:
    """While entered, waiters end after one answer of a service whose answers are made up."""
    wait_really = Waiter.wait

    def wait(waiter: Waiter, **params: object) -> object:
        operation = vars(waiter)["_operation_method"]
        client = vars(operation)["_client_method"].__self__
        if not is_made_up(client.meta.service_model.service_name):
            return wait_really(waiter, **params)
        answer = operation(**{name: value for name, value in params.items() if name != "WaiterConfig"})
        # A fault: the waiter goes on as it does anywhere, with this answer first.
        return wait_really(waiter, **params) if is_valid_waiter_error(answer) else answer

    return replaced(Waiter, "wait", wait)
