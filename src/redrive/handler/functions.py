"""Inspects a user's function: its name, its parameters, and whether a call ran it; mostly without `inspect`.

Importing `inspect` takes half as long as importing the whole library, at every cold start. It is used only for
callables that are not plain functions, and for calls with keyword arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import AsyncGeneratorType, FunctionType, GeneratorType
from typing import TYPE_CHECKING, ParamSpec, TypeGuard, TypeVar

if TYPE_CHECKING:
    from inspect import Signature

    from redrive.handler.signatures import Function

P = ParamSpec("P")
R = TypeVar("R")

Arguments = tuple[tuple[object, ...], Mapping[str, object]]

CO_COROUTINE = 0x80  # The value of inspect.CO_COROUTINE.

_RESULTS = frozenset({type(None), bool, int, float, str, list, dict, tuple})  # Types that are always results.
_GENERATORS = (GeneratorType, AsyncGeneratorType)
_PROMISING = ("__await__", "add_done_callback")  # Of coroutines and tasks, and of the futures of thread pools.


def is_async(function: Callable[P, object]) -> TypeGuard[Callable[P, Awaitable[object]]]:
    """Whether a call returns a coroutine, as far as the callable shows; `refuse_unrun` catches a hidden coroutine.

    Objects may declare it by an attribute `is_async`, or have an async `__call__`.
    """
    if isinstance(function, FunctionType):
        if function.__code__.co_flags & CO_COROUTINE:
            return True
        if vars(function).keys() <= {"__wrapped__"}:  # inspect.markcoroutinefunction sets an attribute.
            return False
    declared = getattr(function, "is_async", None)
    if isinstance(declared, bool):
        return declared
    import inspect

    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def refuse_unrun(result: object, by: Function) -> None:
    """Check that a function returned a result, and not work that has not run: a coroutine, a generator, a future.

    A plain function may return one: a lambda around an async function, a decorator that hides one, a missing await.
    Errors: TypeError; the coroutine is closed.
    """
    kind = type(result)
    if kind in _RESULTS or not (issubclass(kind, _GENERATORS) or any(hasattr(kind, name) for name in _PROMISING)):
        return
    close = getattr(result, "close", None)
    if callable(close):
        close()  # Otherwise Python warns that it was never awaited, without saying where.
    raise TypeError(
        f"{name_of(by)} returned a {kind.__name__}, so that its work has not been run: decorate or hand over the "
        "`async def` itself, await what it calls, and return no generator"
    )


def name_of(function: Function) -> str:
    """A function's qualified name with its module: the same in every process that imports the module alike."""
    if isinstance(function, functools.partial):
        return name_of(function.func)
    qualified = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or type(function).__module__}.{qualified}"


def identity_of(function: Function) -> str:
    """A text that identifies a function until it is renamed: its name, and for a lambda its contents.

    All lambdas of a scope have the same name. A lambda is identified by the names and constants in it; not by its line
    or its bytecode, which change with each deployment and each version of Python.
    """
    name = name_of(function)
    if not isinstance(function, FunctionType) or function.__name__ != "<lambda>":
        return name
    import hashlib

    code = function.__code__
    words = (*code.co_names, *code.co_freevars, *(one for one in code.co_consts if isinstance(one, str)))
    digest = hashlib.sha256(repr(words).encode()).hexdigest()[:8]
    return f"{name}#{digest}"


def is_method(function: Function) -> bool:
    """Whether a plain function is defined in a class and takes its object, or its class, first."""
    if not isinstance(function, FunctionType):
        return False
    within, _, _ = function.__qualname__.rpartition(".")
    first = function.__code__.co_varnames[: min(1, function.__code__.co_argcount)]
    return within != "" and not within.endswith("<locals>") and first in {("self",), ("cls",)}


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[None, None, R]]:
    """The async form of a blocking function: it runs in a thread, and other coroutines continue meanwhile."""

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from asyncio import to_thread

        return await to_thread(function, *args, **kwargs)

    run.__name__ = run.__qualname__ = f"{function.__name__}_async"
    run.__doc__ = f"As `{function.__name__}`, in a thread, so that other coroutines go on meanwhile."
    return run


class Parameters:
    """The parameters of a function, matched with the arguments of its calls."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._places_min, self._places_max = _places(function)
        self._signature: Signature | None = None

    def matched(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Arguments:
        """Arguments in the order of the parameters; by name only those that cannot be positional. Errors: TypeError."""
        if not kwargs and self._places_min <= len(args) <= self._places_max:
            return args, kwargs
        if self._signature is None:
            import inspect

            self._signature = inspect.signature(self._function)
        bound = self._signature.bind(*args, **kwargs)
        return bound.args, bound.kwargs


def _places(function: Function) -> tuple[int, int]:
    """The least and the most positional arguments of a function; (1, 0) if that is not simple."""
    if not isinstance(function, FunctionType) or vars(function):  # A wrapper's parameters are those of what it wraps.
        return 1, 0
    code = function.__code__
    if code.co_kwonlyargcount > len(function.__kwdefaults__ or ()):
        return 1, 0
    return code.co_argcount - len(function.__defaults__ or ()), code.co_argcount
