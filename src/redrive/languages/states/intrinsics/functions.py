"""What each intrinsic function computes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Final

from redrive.core.documents import dump_json, load_json
from redrive.core.entropy import Entropy, SeededEntropy, new_uuid
from redrive.languages.states.equality import key_of

TEXT_CHARACTERS_MAX = 10_000
"""For Base64Encode, Base64Decode and Hash."""
RANGE_MAX = 1_000
INTEGER_MAX = 2**31 - 1
INTEGER_MIN = -(2**31)

_ALGORITHMS: Final = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


class Unfit(ValueError):
    """The arguments are not those that a function takes; the text says why."""


def format_text(template: object, values: Sequence[object]) -> str:
    """The template with each `{}` replaced by the next value; a backslash makes a brace plain."""
    pieces: list[str] = []
    waiting = iter(values)
    used = 0
    text = _text(template)
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            pieces.append(text[at + 1])
            at += 2
        elif text.startswith("{}", at):
            used += 1
            pieces.append(_shown(next(waiting, None)))
            at += 2
        elif text[at] in "{}":
            raise Unfit(f"a brace stands alone at character {at + 1}; a plain one has a backslash before it")
        else:
            pieces.append(text[at])
            at += 1
    if used != len(values):
        raise Unfit(f"the template has {used} places, and {len(values)} values follow")
    return "".join(pieces)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _string_to_json(text: object) -> object:
    try:
        return load_json(_text(text))
    except ValueError as error:
        raise Unfit(f"the text is not JSON: {error}") from None


def _partition(values: object, size: object) -> object:
    array, length = _array(values), _integer(size)
    if length < 1:
        raise Unfit("the size of the chunks must be a positive integer")
    return [array[at : at + length] for at in range(0, len(array), length)]


def _contains(values: object, value: object) -> object:
    return key_of(value) in {key_of(one) for one in _array(values)}


def _range(first: object, last: object, step: object) -> object:
    start, end, width = _integer(first), _integer(last), _integer(step)
    if width == 0:
        raise Unfit("the increment must not be 0")
    values = range(start, end + (1 if width > 0 else -1), width)
    if len(values) > RANGE_MAX:
        raise Unfit(f"the array would have more than {RANGE_MAX} elements")
    return list(values)


def _get_item(values: object, index: object) -> object:
    array, at = _array(values), _integer(index)
    if not 0 <= at < len(array):
        raise Unfit(f"the array has no element {at}")
    return array[at]


def _unique(values: object) -> object:
    found: dict[str, object] = {}
    for value in _array(values):
        found.setdefault(key_of(value), value)
    return list(found.values())


def _encode(text: object) -> object:
    return base64.b64encode(_short(text).encode()).decode()


def _decode(text: object) -> object:
    try:
        return base64.b64decode(_short(text), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Unfit("the text is no Base64 of a text") from None


def _hash(data: object, algorithm: object) -> object:
    name = _ALGORITHMS.get(_text(algorithm))
    if name is None:
        raise Unfit(f"the algorithm must be one of {', '.join(_ALGORITHMS)}")
    return hashlib.new(name, _short(_shown(data)).encode(), usedforsecurity=False).hexdigest()


def _merge(first: object, second: object, deep: object) -> object:
    if not isinstance(first, dict) or not isinstance(second, dict):
        raise Unfit("the first two arguments must be objects")
    if deep is not False:
        raise Unfit("the third argument must be false: only shallow merging is supported")
    return {**first, **second}


def _add(first: object, second: object) -> object:
    return _integer(first) + _integer(second)


def _split(text: object, separators: object) -> object:
    splitting = set(_text(separators))
    parts: list[str] = [""]
    for character in _text(text):
        if character in splitting:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def _random(entropy: Entropy, arguments: Sequence[object]) -> object:
    start, end = _integer(arguments[0]), _integer(arguments[1])
    if start >= end:
        raise Unfit("the start must be less than the end")
    source = SeededEntropy(_integer(arguments[2])) if len(arguments) > 2 else entropy
    return min(end - 1, math.floor(source.uniform(start, end)))


Function = Callable[[Entropy, Sequence[object]], object]


def _one(function: Callable[[object], object]) -> Function:
    return lambda _, arguments: function(arguments[0])


def _two(function: Callable[[object, object], object]) -> Function:
    return lambda _, arguments: function(arguments[0], arguments[1])


def _three(function: Callable[[object, object, object], object]) -> Function:
    return lambda _, arguments: function(arguments[0], arguments[1], arguments[2])


MANY = 1_000

FUNCTIONS: Final[dict[str, tuple[int, int, Function]]] = {
    "Array": (0, MANY, lambda _, arguments: list(arguments)),
    "ArrayContains": (2, 2, _two(_contains)),
    "ArrayGetItem": (2, 2, _two(_get_item)),
    "ArrayLength": (1, 1, _one(lambda values: len(_array(values)))),
    "ArrayPartition": (2, 2, _two(_partition)),
    "ArrayRange": (3, 3, _three(_range)),
    "ArrayUnique": (1, 1, _one(_unique)),
    "Base64Decode": (1, 1, _one(_decode)),
    "Base64Encode": (1, 1, _one(_encode)),
    "Format": (1, MANY, lambda _, arguments: format_text(arguments[0], arguments[1:])),
    "Hash": (2, 2, _two(_hash)),
    "JsonMerge": (3, 3, _three(_merge)),
    "JsonToString": (1, 1, _one(dump_json)),
    "MathAdd": (2, 2, _two(_add)),
    "MathRandom": (2, 3, _random),
    "StringSplit": (2, 2, _two(_split)),
    "StringToJson": (1, 1, _one(_string_to_json)),
    "UUID": (0, 0, lambda entropy, _: new_uuid(entropy)),
}
"""Each function, with the fewest and the most arguments that it takes."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit(f"a text is needed, not {_kind(value)}")
    return value


def _short(value: object) -> str:
    text = _text(value)
    if len(text) > TEXT_CHARACTERS_MAX:
        raise Unfit(f"the text has more than {TEXT_CHARACTERS_MAX} characters")
    return text


def _array(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Unfit(f"an array is needed, not {_kind(value)}")
    return value


def _integer(value: object) -> int:
    """An integer of 32 bits. Other numbers are rounded to the nearest one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Unfit(f"an integer is needed, not {_kind(value)}")
    number = value if isinstance(value, int) else math.floor(value + 0.5)
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise Unfit(f"an integer must lie between {INTEGER_MIN} and {INTEGER_MAX}")
    return number


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "an array"
        case _:
            return "an object"
