"""What a user's function is, and which arguments a call gives it, mostly found out without `inspect`.

To import that module costs half of what the library costs, and every cold start would pay for it. It is asked about
callables that are no plain functions, and about calls that name their arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, ParamSpec, TypeGuard

if TYPE_CHECKING:
    from inspect import Signature

    from redrive.handler.signatures import Function

P = ParamSpec("P")

Arguments = tuple[tuple[object, ...], Mapping[str, object]]

CO_COROUTINE = 0x80  # As inspect.CO_COROUTINE.


def is_async(function: Callable[P, object]) -> TypeGuard[Callable[P, Awaitable[object]]]:
    """Whether a call makes a coroutine; as `inspect.iscoroutinefunction`."""
    if isinstance(function, FunctionType):
        if function.__code__.co_flags & CO_COROUTINE:
            return True
        if vars(function).keys() <= {"__wrapped__"}:  # inspect.markcoroutinefunction leaves an attribute.
            return False
    import inspect

    return inspect.iscoroutinefunction(function)


class Parameters:
    """The parameters of a function, to which the arguments of its calls are matched."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._places_min, self._places_max = _places(function)
        self._signature: Signature | None = None

    def matched(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Arguments:
        """Arguments in the order of the parameters; by name only what can be given no other way. Errors: TypeError."""
        if not kwargs and self._places_min <= len(args) <= self._places_max:
            return args, kwargs
        if self._signature is None:
            import inspect

            self._signature = inspect.signature(self._function)
        bound = self._signature.bind(*args, **kwargs)
        return bound.args, bound.kwargs


def _places(function: Function) -> tuple[int, int]:
    """How many arguments a function takes without their names: at least and at most; (1, 0) where that is not plain."""
    if not isinstance(function, FunctionType) or vars(function):  # A wrapper's parameters are those of what it wraps.
        return 1, 0
    code = function.__code__
    if code.co_kwonlyargcount > len(function.__kwdefaults__ or ()):
        return 1, 0
    return code.co_argcount - len(function.__defaults__ or ()), code.co_argcount
