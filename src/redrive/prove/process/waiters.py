"""Waiters of services whose answers are made up: the state that they wait for has come when they first ask.

A waiter of a service that the engine has asks as often as anywhere. So do those of aiobotocore, which are awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType
from typing import Protocol, cast

from botocore.waiter import Waiter, is_valid_waiter_error

from redrive.prove.process.imports import taken_over
from redrive.prove.process.surroundings import replaced

IsMadeUp = Callable[[str], bool]


class _Operation(Protocol):
    def __call__(self, **params: object) -> object: ...


@contextmanager
def ended_waiters(is_made_up: IsMadeUp) -> Iterator[None]:
    """While entered, waiters end after one answer of a service whose answers are made up."""
    with ExitStack() as stack:
        stack.enter_context(_ended(is_made_up))
        stack.enter_context(taken_over({"aiobotocore.waiter": lambda module: _ended_async(module, is_made_up)}))
        yield


def _ended(is_made_up: IsMadeUp) -> AbstractContextManager[None]:
    wait_really = Waiter.wait

    def wait(waiter: Waiter, **params: object) -> object:
        operation, is_ended = _operation_of(waiter, is_made_up)
        if not is_ended:
            return wait_really(waiter, **params)
        answer = operation(**_asked(params))
        # A fault: the waiter goes on as it does anywhere, with this answer first.
        return wait_really(waiter, **params) if is_valid_waiter_error(answer) else answer

    return replaced(Waiter, "wait", wait)


def _ended_async(module: ModuleType, is_made_up: IsMadeUp) -> AbstractContextManager[None]:
    wait_really = module.AIOWaiter.wait

    async def wait(waiter: Waiter, **params: object) -> object:
        operation, is_ended = _operation_of(waiter, is_made_up)
        if not is_ended:
            return await wait_really(waiter, **params)
        answer = await cast("Awaitable[object]", operation(**_asked(params)))
        return await wait_really(waiter, **params) if is_valid_waiter_error(answer) else answer

    return replaced(module.AIOWaiter, "wait", wait)


def _operation_of(waiter: Waiter, is_made_up: IsMadeUp) -> tuple[_Operation, bool]:
    """What a waiter asks, and whether the answers are made up."""
    operation = vars(waiter)["_operation_method"]
    client = vars(operation)["_client_method"].__self__
    return operation, is_made_up(client.meta.service_model.service_name)


def _asked(params: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in params.items() if name != "WaiterConfig"}
