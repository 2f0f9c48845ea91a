"""Documents: the JSON-shaped parameters and answers of AWS's operations, and dataclasses in this form.

`Document` is the one place without static types: the models in `wire` define its content.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar, Union, cast

Document = dict[str, Any]
"""Keys in AWS's own spelling; values are strings, numbers, booleans, bytes, lists and Documents."""

NESTING_MAX = 200
"""How deep JSON from outside may nest: more than any service needs, less than the encoder can write."""

T = TypeVar("T")

_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")

_Decoder = Callable[[Any], Any]


class EncodedDocument(Mapping[str, Any]):
    """A document that is JSON already. `text` goes into an answer as it is; reading a key parses the text once."""

    __slots__ = ("_load", "_loaded", "text")

    def __init__(self, text: bytes, load: Callable[[bytes], Mapping[str, Any]]) -> None:
        self.text = text
        self._load = load
        self._loaded: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> Mapping[str, Any]:
        if self._loaded is None:
            self._loaded = self._load(self.text)
        return self._loaded


class PlacedList(list[Document]):
    """A list whose elements stand among those of other lists in an XML answer; `places` has the place of each."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__()
        self.places: list[int] = []

    def place(self, element: Document, at: int) -> None:
        """Append an element."""
        self.append(element)
        self.places.append(at)


def dump_json(value: object) -> str:
    """Compact JSON: keys in their order, non-ASCII text unescaped."""
    return _ENCODER.encode(value)


def load_json(text: str | bytes) -> Any:
    """Parse JSON strictly, so that the value can be encoded and stored again.

    Python's parser accepts more. This function refuses NaN and infinite numbers, unpaired surrogates and deep nesting.
    Errors: ValueError.
    """
    source = text if isinstance(text, str) else text.decode()
    try:
        value = _DECODER.decode(source)
    except RecursionError:
        raise ValueError(f"it nests deeper than {NESTING_MAX} levels") from None
    # Counting is cheap. It shows for most texts that the two full checks are not needed.
    if len(source) > NESTING_MAX and source.count("[") + source.count("{") > NESTING_MAX and _is_too_deep(value):
        raise ValueError(f"it nests deeper than {NESTING_MAX} levels")
    if "\\u" in source and _HALF_PAIR.search(source):
        refuse_half_pairs(value)
    return value


def refuse_half_pairs(value: object) -> None:
    """Errors: ValueError if a text in a JSON-shaped value has an unpaired surrogate, which cannot be encoded."""
    dump_json(value).encode()


def dump_dataclass(value: object) -> str:
    """Write a dataclass as a JSON document. Fields may be scalars, enums, mappings, sequences and dataclasses."""
    return _DATACLASS_ENCODER.encode(value)


def load_dataclass(cls: type[T], text: str) -> T:
    """Read what `dump_dataclass` wrote. Missing fields take their defaults; unknown fields are ignored.

    Because of these two rules, old and new versions of the code can read each other's documents.
    """
    decode: _Decoder = _decoder(cast(Any, cls))
    return cast(T, decode(json.loads(text)))


def _is_too_deep(value: Any) -> bool:
    level: list[Any] = [[value]]
    for _ in range(NESTING_MAX + 1):
        children = (child for item in level for child in (item.values() if type(item) is dict else item))
        level = [child for child in children if type(child) is dict or type(child) is list]
    return bool(level)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _plain(value: Any) -> Any:
    """The JSON form of a value that the encoder does not know. Converts one level; the encoder calls again."""
    if isinstance(value, enum.Enum):  # First, because the dataclass check is slow for an enum.
        return value.value
    if dataclasses.is_dataclass(value):
        return {name: getattr(value, name) for name in _field_names(value.__class__)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


@functools.cache
def _field_names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


# Created once, because json.dumps and json.loads create them anew in each call with options.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_DATACLASS_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=_plain)


@functools.cache
def _decoder(hint: Any) -> _Decoder:
    """The function that rebuilds a value of this type from plain JSON; built once per type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _decoder_of_optional(arguments)
    if dataclasses.is_dataclass(hint):
        return _decoder_of_dataclass(cast(type, hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if origin is tuple and arguments and arguments[-1] is Ellipsis:
        item = _decoder(arguments[0])
        return lambda value: tuple(item(one) for one in value)
    if origin in (list, frozenset):
        item, container = _decoder(arguments[0]), origin
        return lambda value: container(item(one) for one in value)
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        item = _decoder(arguments[1])
        return _as_it_is if item is _as_it_is else lambda value: {key: item(one) for key, one in value.items()}
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _decoder_of_optional(arguments: tuple[Any, ...]) -> _Decoder:
    present = [argument for argument in arguments if argument is not type(None)]
    if len(present) != 1:
        return _as_it_is
    inner = _decoder(present[0])
    return lambda value: None if value is None else inner(value)


def _decoder_of_dataclass(cls: type) -> _Decoder:
    hints = typing.get_type_hints(cls)
    decoders = {field.name: _decoder(hints[field.name]) for field in dataclasses.fields(cls)}
    names = decoders.keys()
    changing = [(name, decode) for name, decode in decoders.items() if decode is not _as_it_is]

    def decode(value: Any) -> Any:
        found = value.copy() if value.keys() == names else {name: value[name] for name in names if name in value}
        for name, decode_field in changing:
            if name in found:
                found[name] = decode_field(found[name])
        return cls(**found)

    return decode
