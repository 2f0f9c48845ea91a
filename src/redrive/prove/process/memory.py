"""What an execution environment remembers: the contents of all that its modules hold, told, kept and put back.

An environment whose run has ended goes on with the next run, and a search plays many histories from there. So each
container that the user's modules reach (a module, a dict, a list, a set, an object, a default argument, the variables
of a closure, a cache of `functools`) is copied one level deep, and gets that content again before another history goes
on. The objects stay the same, so whatever refers to them still does.

Objects of libraries are taken to have no memory that matters, except containers and those of `FOLLOWED`. What can
neither be copied nor put back, as a generator, is told: such an environment is not kept.
"""

from __future__ import annotations

import contextlib
import functools
import io
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from re import Pattern
from typing import Any, NamedTuple, Protocol

from redrive.core.entropy import UUID
from redrive.prove.process.surroundings import replaced

OBJECTS_MAX = 20_000
"""An environment that holds more objects is not kept."""
FOLLOWED = (
    "aws_lambda_powertools.utilities.idempotency", "aws_lambda_powertools.utilities.parameters", "cachetools",
    "circuitbreaker", "collections", "expiringdict",
)  # fmt: skip
"""Libraries whose objects are memory."""
_CLIENTS = ("aioboto3", "aiobotocore", "boto3", "botocore")
"""Objects of these libraries keep nothing that a handler decides by: a client that is made late is none at first."""
_PLAIN = (str, bytes, int, float, complex, Decimal, date, time, timedelta, tzinfo, UUID, PurePath, Pattern, range)


class Put(Protocol):
    """Gives a container this content again."""

    def __call__(self, one: Any, content: Any, /) -> None: ...


Name = tuple[str, str]
"""A module, and a name in it."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What modules hold at one moment. `told` says it by their names; equal texts are equal contents."""

    told: Mapping[Name, str]
    contents: tuple[tuple[Put, object, object], ...] = field(repr=False)
    unkept: str = ""
    """What cannot be put back; empty if everything can."""

    def put_back(self) -> None:
        """Give all containers the content that they had."""
        for put, one, content in self.contents:
            put(one, content)

    def names_changed(self, before: Memory) -> tuple[str, ...]:
        """The names of modules that hold something else than before."""
        names = {*self.told, *before.told}
        return tuple(sorted(name[1] for name in names if self.told.get(name) != before.told.get(name)))


def memory_of(modules: Mapping[str, types.ModuleType]) -> Memory:
    """What these modules hold now."""
    walk = _Walk(frozenset(modules))
    told: dict[Name, str] = {}
    for name, module in sorted(modules.items()):
        held = vars(module)
        walk.keep(_put_names, held, dict(held))
        for word, value in held.items():
            if not (word.startswith("__") and word.endswith("__")):
                told[name, word] = walk.told_of(value)
    return Memory(told, tuple(walk.contents), walk.unkept)


class _Walk:
    """Goes through all that some modules reach."""

    def __init__(self, own: frozenset[str]) -> None:
        self.contents: list[tuple[Put, object, object]] = []
        self.unkept = ""
        self._own = own
        self._seen: dict[int, object] = {}
        self._told: list[str] = []

    def keep(self, put: Put, one: object, content: object) -> None:
        """Keep the content of a container."""
        self.contents.append((put, one, content))

    def told_of(self, value: object) -> str:
        """A value as text, with all that it holds."""
        self._told = []
        self._visit(value)
        return " ".join(self._told)

    def _visit(self, value: object) -> None:
        if value is None or isinstance(value, bool | Enum):
            self._told.append(str(value))
        elif isinstance(value, _PLAIN):
            self._told.append(repr(value))
        elif isinstance(value, types.ModuleType | types.BuiltinFunctionType):
            self._told.append(value.__name__)
        elif _is_of(type(value), _CLIENTS):
            self._told.append(str(None))
        elif id(value) in self._seen:
            self._told.append(f"again {type(value).__name__}")
        elif len(self._seen) >= OBJECTS_MAX:
            self.unkept = f"more than {OBJECTS_MAX:,} objects"
        else:
            self._seen[id(value)] = value  # Kept, so that its identity stays its own.
            self._told.append(f"{type(value).__qualname__}(")
            self._open(value)
            self._told.append(")")

    def _open(self, value: object) -> None:
        """Go into an object."""
        match value:
            case types.FunctionType():
                self._function(value)
            case types.MethodType():
                self._all((value.__self__, value.__func__))
            case functools.partial():
                self._all((value.func, *value.args, *value.keywords.values()))
            case property():
                self._all((value.fget, value.fset))
            case staticmethod() | classmethod():
                self._visit(value.__func__)
            case type():
                self._class(value)
            case types.CellType():
                self._cell(value)
            case _:
                self._container(value)

    def _all(self, values: Iterable[object]) -> None:
        for one in values:
            self._visit(one)

    def _function(self, value: types.FunctionType) -> None:
        self._told.append(value.__qualname__)
        self._all(value.__defaults__ or ())
        self._all((value.__kwdefaults__ or {}).values())
        self._all(value.__closure__ or ())
        if value.__dict__:
            self.keep(_put_names, value.__dict__, dict(value.__dict__))
            self._all(one for name, one in value.__dict__.items() if name != "__wrapped__")
            self._visit(value.__dict__.get("__wrapped__"))

    def _cell(self, value: types.CellType) -> None:
        try:
            content = value.cell_contents
        except ValueError:  # It is empty.
            return
        self.keep(_put_cell, value, content)
        self._visit(content)

    def _class(self, value: type) -> None:
        if value.__module__ not in self._own:
            self._told.append(value.__module__)
            return
        content = {name: one for name, one in vars(value).items() if not name.startswith("__")}
        self.keep(_put_attributes, value, content)
        for name, one in content.items():
            self._told.append(name)
            self._visit(one)

    def _container(self, value: object) -> None:
        match value:
            case OrderedDict():
                self.keep(_put_ordered, value, list(value.items()))
                self._items(value)
            case dict():
                self.keep(_put_dict, value, dict(value))
                self._items(value)
            case list():
                self.keep(_put_list, value, list(value))
                self._all(value)
            case deque():
                self.keep(_put_deque, value, list(value))
                self._all(value)
            case set():
                self.keep(_put_set, value, set(value))
                self._all(sorted(value, key=repr))
            case frozenset():
                self._all(sorted(value, key=repr))
            case bytearray():
                self.keep(_put_list, value, bytes(value))
                self._told.append(repr(bytes(value)))
            case tuple():
                self._all(value)
            case _ if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
                self.unkept = self.unkept or f"a {type(value).__name__}, whose position cannot be set back"
        self._object(value)

    def _items(self, value: Mapping[Any, object]) -> None:
        for key, one in value.items():
            self._visit(key)
            self._visit(one)

    def _object(self, value: object) -> None:
        """The attributes of an object of the user's own classes, or of a library that is memory."""
        if type(value).__module__ not in self._own and not _is_of(type(value), FOLLOWED):
            return
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            self.keep(_put_names, held, dict(held))
            self._items(held)
        slots = {name for one in type(value).__mro__ for name in _slots_of(one) if hasattr(value, name)}
        if slots:
            content = {name: getattr(value, name) for name in sorted(slots)}
            self.keep(_put_slots, value, content)
            self._items(content)


def _slots_of(one: type) -> tuple[str, ...]:
    slots = vars(one).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    hidden = f"_{one.__name__.lstrip('_')}"
    told = (f"{hidden}{name}" if name.startswith("__") and not name.endswith("__") else name for name in names)
    return tuple(name for name in told if name not in ("__dict__", "__weakref__"))


def _is_of(one: type, libraries: tuple[str, ...]) -> bool:
    module = one.__module__
    return any(module == library or module.startswith(f"{library}.") for library in libraries)


def _put_names(one: dict[str, object], content: dict[str, object]) -> None:
    """A namespace: functions refer to it while it is put back."""
    for name in [name for name in one if name not in content]:
        del one[name]
    one.update(content)


def _put_dict(one: dict[object, object], content: dict[object, object]) -> None:
    dict.clear(one)
    dict.update(one, content)


def _put_ordered(one: OrderedDict[object, object], content: list[tuple[object, object]]) -> None:
    OrderedDict.clear(one)
    for key, value in content:
        OrderedDict.__setitem__(one, key, value)


def _put_list(one: list[object] | bytearray, content: Any) -> None:
    one[:] = content


def _put_deque(one: deque[object], content: list[object]) -> None:
    one.clear()
    one.extend(content)


def _put_set(one: set[object], content: set[object]) -> None:
    one.clear()
    one |= content


def _put_cell(one: types.CellType, content: object) -> None:
    one.cell_contents = content


def _put_attributes(one: type, content: dict[str, object]) -> None:
    held = vars(one)
    for name in [name for name in held if not name.startswith("__") and name not in content]:
        delattr(one, name)
    for name, value in content.items():
        if held.get(name) is not value:
            setattr(one, name, value)


def _put_slots(one: object, content: dict[str, object]) -> None:
    for name, value in content.items():
        object.__setattr__(one, name, value)


@dataclass(slots=True)
class _Counts:
    """How often a cache was asked; nobody decides by it."""

    hits: int = 0
    misses: int = 0


class _CacheInfo(NamedTuple):
    hits: int
    misses: int
    maxsize: int | None
    currsize: int


_Function = Callable[..., object]


@contextmanager
def caches_open(is_own: Callable[[str], bool]) -> Iterator[None]:
    """While entered, `functools.lru_cache` and `cache` keep what they remember of the user's functions in a dict.

    The caches of `functools` cannot be looked into. `is_own` says whether a file is the user's.
    """
    original: _Function = functools.lru_cache

    def lru_cache(maxsize: int | _Function | None = 128, typed: bool = False) -> object:
        if callable(maxsize):
            return _cached(maxsize, 128, typed=False) if _is_code_of(maxsize, is_own) else original(maxsize)

        def decorate(function: _Function) -> object:
            if not _is_code_of(function, is_own):
                decorated: _Function = original(maxsize, typed)  # type: ignore[assignment]
                return decorated(function)
            return _cached(function, maxsize, typed=typed)

        return decorate

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(functools, "lru_cache", lru_cache))
        yield


def _is_code_of(function: _Function, is_own: Callable[[str], bool]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and is_own(code.co_filename)


def _cached(function: _Function, maxsize: int | None, *, typed: bool) -> _Function:
    """The function with a cache, as `functools.lru_cache` makes it."""
    kept: OrderedDict[Hashable, object] = OrderedDict()
    counts = _Counts()

    @functools.wraps(function)
    def ask(*arguments: Hashable, **named: Hashable) -> object:
        types_of = tuple(map(type, (*arguments, *named.values()))) if typed else ()
        key = (arguments, tuple(named.items()), types_of)
        if key in kept:
            counts.hits += 1
            kept.move_to_end(key)
            return kept[key]
        counts.misses += 1
        found = kept[key] = function(*arguments, **named)
        if maxsize is not None and len(kept) > maxsize:
            kept.popitem(last=False)
        return found

    def clear() -> None:
        kept.clear()
        counts.hits = counts.misses = 0

    ask.cache_clear = clear  # type: ignore[attr-defined]
    ask.cache_info = lambda: _CacheInfo(counts.hits, counts.misses, maxsize, len(kept))  # type: ignore[attr-defined]
    ask.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}  # type: ignore[attr-defined]
    return ask
