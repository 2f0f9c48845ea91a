"""What is found out without `inspect` is what `inspect` would say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from redrive.handler.functions import CO_COROUTINE, Parameters, is_async


def plain(event, context=None): ...


async def coroutine(event): ...


def generator(event):
    yield event


def named(event, *, context): ...


def anything(*args, **kwargs): ...


@functools.wraps(named)
def wrapper(*args, **kwargs): ...


class Callee:
    def method(self, event): ...

    async def method_async(self, event): ...

    def __call__(self, event): ...


FUNCTIONS = [
    plain, coroutine, generator, named, anything, wrapper, Callee().method, Callee().method_async, Callee(), len,
    functools.partial(coroutine), functools.partial(plain, 1), lambda event: event,
]  # fmt: skip
CALLS: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((), {}), ((1,), {}), ((1, 2), {}), ((1, 2, 3), {}),
    ((1,), {"context": 2}), ((), {"event": 1}), ((1,), {"other": 2}),
]  # fmt: skip


def bound(function: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    try:
        found = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return TypeError
    return found.args, found.kwargs


@pytest.mark.parametrize("function", FUNCTIONS)
def test_async_function_is_known_as_inspect_knows_it(function: Callable[..., Any]) -> None:
    assert is_async(function) is inspect.iscoroutinefunction(function)
    assert inspect.CO_COROUTINE == CO_COROUTINE


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_arguments_are_matched_as_a_signature_binds_them(
    function: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    try:
        matched: object = Parameters(function).matched(args, kwargs)
    except TypeError:
        matched = TypeError

    assert matched == bound(function, args, kwargs)
