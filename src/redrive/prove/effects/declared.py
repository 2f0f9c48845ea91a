"""Observes effects that the user declared with `redrive.handler`.

The only thing that this module needs of that library is a class `Effect` with `name` and `key_memory`, whose instances
call `__wrapped__` with the idempotency key first. Without the library, no effect is declared.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, cast

from redrive.core.clock import SECOND_MS
from redrive.prove.calls.calls import Params
from redrive.prove.process.surroundings import replaced

_MODULE = "redrive.handler.effects"


class _Function(Protocol):
    """Performs the effect, under an idempotency key."""

    def __call__(self, key: str, /, *args: object, **kwargs: object) -> object: ...


class _Effect(Protocol):
    """The part of a declared effect that is used here."""

    name: str
    key_memory: timedelta | None
    __wrapped__: _Function


@dataclass(frozen=True, slots=True)
class Declared:
    """One occurrence of a declared effect. `memory_ms`: how long its downstream remembers the key; None is for ever."""

    name: str
    key: str
    memory_ms: int | None
    arguments: Params = field(default_factory=dict)
    """The arguments besides the key, by position and by name."""


class Happening(Protocol):
    """An effect that is about to happen."""

    answer: object


EffectWatch = Callable[[Declared], AbstractContextManager[Happening]]
"""Receives an effect that is about to happen. The effect happens inside, and stores its answer there."""


def watched_effects(watch: EffectWatch) -> AbstractContextManager[None]:
    """While entered, declared effects happen through `watch`."""
    try:
        effects = importlib.import_module(_MODULE)
    except ImportError:
        return nullcontext()
    original = effects.Effect.__call__

    def call(effect: _Effect, *args: object, **kwargs: object) -> object:
        seen = copy.copy(effect)
        seen.__wrapped__ = _watching(effect, watch)
        return original(seen, *args, **kwargs)

    return replaced(effects.Effect, "__call__", call)


def _watching(effect: _Effect, watch: EffectWatch) -> _Function:
    function = effect.__wrapped__
    memory = effect.key_memory
    memory_ms = None if memory is None else int(memory.total_seconds() * SECOND_MS)

    def declared(key: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Declared:
        positions = {f"argument {number}": value for number, value in enumerate(args, 1)}
        return Declared(effect.name, key, memory_ms, {**positions, **kwargs})

    def happen(key: str, /, *args: object, **kwargs: object) -> object:
        with watch(declared(key, args, kwargs)) as happening:
            happening.answer = function(key, *args, **kwargs)
        return happening.answer

    async def happen_later(key: str, /, *args: object, **kwargs: object) -> object:
        with watch(declared(key, args, kwargs)) as happening:
            happening.answer = await cast("Awaitable[object]", function(key, *args, **kwargs))
        return happening.answer

    return happen_later if inspect.iscoroutinefunction(function) else happen
