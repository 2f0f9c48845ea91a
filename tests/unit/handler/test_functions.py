"""What is found out without `inspect` is what `inspect` would say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from redrive.handler.functions import CO_COROUTINE, Parameters, identity_of, is_async, is_method, name_of, refuse_unrun


def plain(event, context=None): ...


async def coroutine(event) -> None: ...


def generator(event) -> Any:
    yield event


async def generator_async() -> Any:
    yield 1


def named(event, *, context): ...


def anything(*args, **kwargs): ...


@functools.wraps(named)
def wrapper(*args, **kwargs): ...


class Callee:
    def method(self, event): ...

    async def method_async(self, event): ...

    def __call__(self, event): ...


class AsyncCallee:
    async def __call__(self, event): ...


class Declaring:
    is_async = True

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


@pytest.mark.parametrize("function", [AsyncCallee(), Declaring()])
def test_object_whose_calls_make_coroutines_is_async(function: Callable[..., Any]) -> None:
    assert is_async(function)


def later(event):
    return coroutine(event)


@pytest.mark.parametrize("unrun", [coroutine(1), generator(1), Future(), (n async for n in generator_async())])
def test_work_that_nobody_has_run_is_no_result(unrun: object) -> None:
    with pytest.raises(TypeError, match=r"test_functions\.later returned .* has not been run"):
        refuse_unrun(unrun, later)


def test_coroutine_that_is_refused_is_closed() -> None:
    """It would warn that it was never awaited, long after, and nobody would know whose it was."""
    unrun = coroutine(1)

    with pytest.raises(TypeError):
        refuse_unrun(unrun, functools.partial(later))

    assert inspect.getcoroutinestate(unrun) == inspect.CORO_CLOSED


@pytest.mark.parametrize("result", [None, 1, "x", [], {}, (), object(), iter([1]), Callee()])
def test_other_values_are_results(result: object) -> None:
    refuse_unrun(result, later)


def test_methods_are_functions_of_a_class_that_take_it_first() -> None:
    class Local:
        def method(self, event): ...

        @classmethod
        def of_class(cls, event): ...

        @staticmethod
        def static(event): ...

    def function(self): ...

    assert [is_method(one) for one in (Local.method, Callee.method, vars(Local)["of_class"].__func__)] == [True] * 3
    assert [is_method(one) for one in (Local.static, function, plain, anything, Local().method)] == [False] * 5


def test_function_has_the_name_that_it_is_imported_by() -> None:
    here = __name__

    assert name_of(plain) == f"{here}.plain"
    assert name_of(Callee().method) == f"{here}.Callee.method"
    assert name_of(Callee()) == f"{here}.Callee"
    assert name_of(functools.partial(plain)) == f"{here}.plain"


def test_lambdas_of_one_scope_are_told_apart_by_what_stands_in_them() -> None:
    lambdas: list[Callable[..., Any]] = [
        lambda event: str(event).upper(),
        lambda event: str(event).lower(),
        lambda _: "a",
        lambda _: "b",
    ]

    identities = [identity_of(one) for one in lambdas]
    moved = identity_of(lambda event: str(event).upper())

    assert len(set(identities)) == 4
    assert moved == identities[0]
    assert identity_of(plain) == name_of(plain)
