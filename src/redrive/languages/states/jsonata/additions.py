"""What Step Functions adds to JSONata, and the functions that would read a clock or draw randomness by themselves."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from redrive.core.documents import load_json
from redrive.core.entropy import Entropy, SeededEntropy, new_uuid
from redrive.languages.states.equality import key_of
from redrive.languages.states.jsonata.budget import Budget
from redrive.languages.states.jsonata.failures import FailedEvaluation

RANGE_MAX = 1_000_000
ALGORITHMS: Final = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}

Function = Callable[[Sequence[object]], object]


def additions(entropy: Entropy, budget: Budget) -> Mapping[str, tuple[int, Function]]:
    """The functions by name, each with how many arguments it takes at most; those that are absent come as None.

    An argument that is undefined is None as well. A result of None is undefined.
    """
    return {
        "distinct": (1, lambda given: _distinct(budget, given[0])),
        "hash": (2, lambda given: _hash(given[0], given[1])),
        "parse": (1, lambda given: _parse(given[0])),
        "partition": (2, lambda given: _partition(budget, given[0], given[1])),
        "random": (1, lambda given: _random(entropy, given[0])),
        "range": (3, lambda given: _range(budget, given[0], given[1], given[2])),
        "shuffle": (1, lambda given: _shuffle(entropy, budget, given[0])),
        "uuid": (0, lambda _: new_uuid(entropy)),
    }


def _distinct(budget: Budget, array: object) -> object:
    """The library compares each element with each other one; this takes time linear in their number."""
    if not isinstance(array, list):
        return array
    budget.charge(2 * len(array))
    found: dict[str, object] = {}
    for element in array:
        found.setdefault(key_of(element), element)
    return list(found.values())


def _partition(budget: Budget, array: object, size: object) -> object:
    if array is None:
        return None
    if not isinstance(array, list):
        raise FailedEvaluation("T0410: Argument 1 of function partition does not match function signature")
    length = _number("partition", 2, size)
    if length < 1:
        raise FailedEvaluation("D3050: The second argument of the partition function must be a positive number")
    budget.charge(len(array))
    width = math.floor(length)
    return [array[at : at + width] for at in range(0, len(array), width)]


def _range(budget: Budget, first: object, last: object, step: object) -> object:
    start, end, delta = (_number("range", at, one) for at, one in enumerate((first, last, step), 1))
    if delta == 0:
        raise FailedEvaluation("D3050: The third argument of the range function must not be zero")
    count = math.floor((end - start) / delta + 1e-9) + 1
    if count > RANGE_MAX:
        raise FailedEvaluation(f"D2014: The range function would give more than {RANGE_MAX} numbers")
    budget.charge(max(0, count))
    return [_plain(start + index * delta) for index in range(count)]


def _hash(content: object, algorithm: object) -> object:
    if content is None:
        return None
    if not isinstance(content, str):
        raise FailedEvaluation("T0410: Argument 1 of function hash does not match function signature")
    name = ALGORITHMS.get("SHA-256" if algorithm is None else str(algorithm))
    if name is None:
        raise FailedEvaluation(f"The second argument of the hash function must be one of {', '.join(ALGORITHMS)}")
    return hashlib.new(name, content.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _parse(text: object) -> object:
    if text is None:
        return None
    if not isinstance(text, str):
        raise FailedEvaluation("T0410: Argument 1 of function parse does not match function signature")
    try:
        value: object = load_json(text)
    except ValueError as error:
        raise FailedEvaluation(f"The argument of the parse function is not JSON: {error}") from None
    return value


def _random(entropy: Entropy, seed: object) -> object:
    if seed is None:
        return entropy.uniform(0.0, 1.0)
    return SeededEntropy(str(_number("random", 1, seed))).uniform(0.0, 1.0)


def _shuffle(entropy: Entropy, budget: Budget, array: object) -> object:
    if not isinstance(array, list):
        return array
    budget.charge(len(array))
    shuffled = list(array)
    for last in range(len(shuffled) - 1, 0, -1):
        other = min(last, math.floor(entropy.uniform(0, last + 1)))
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled


def _number(function: str, place: int, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise FailedEvaluation(f"T0410: Argument {place} of function {function} does not match function signature")
    return value


def _plain(number: float) -> float:
    return int(number) if number == math.floor(number) else number
