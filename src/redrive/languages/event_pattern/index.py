"""Finds which of many conditions a value satisfies, without trying them one by one.

Sets of alternatives are the bits of an integer: bit i is alternative i. Texts and numbers are found by hashing,
beginnings and ends in ordered lists, ranges by the interval between two bounds that a number lies in, networks by the
length of their prefix. A wildcard pattern is tried if the value begins as the pattern does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

from redrive.languages.event_pattern.affixes import Affixes
from redrive.languages.event_pattern.conditions import (
    AnythingBut,
    Cidr,
    Condition,
    Equals,
    EqualsIgnoreCase,
    Exists,
    Number,
    Prefix,
    Range,
    Scalar,
    Suffix,
    Wild,
    address_of,
    key_of,
)
from redrive.languages.event_pattern.pattern import Field

INTERVALS_KEPT_MAX = 4_096
"""Size of the cache of alternatives by interval."""


EVERYTHING: Final = -1
"""The set of all alternatives, however many there are: each bit of the integer -1 is set."""


class FieldIndex:
    """All that the alternatives ask of one path.

    `asking` are the alternatives with a field for this path, `optional` those whose field may be absent. `texts` has
    room for the alternatives that a text satisfies; who fills it also bounds and clears it.
    """

    def __init__(self, path: tuple[str, ...], fields: Iterable[tuple[int, Field]]) -> None:
        self.path = path
        self.texts: dict[str, int] = {}
        self.asking = self.optional = self._existing = self._excluding = 0
        self._several: list[tuple[int, Field]] = []
        accepted: list[tuple[int, Condition]] = []
        excluded: list[tuple[int, Condition]] = []
        for number, field in fields:
            bit = 1 << number
            self.asking |= bit
            if field.may_be_absent:
                self.optional |= bit
            negative = [condition for condition in field.conditions if isinstance(condition, AnythingBut)]
            if Exists() in field.conditions:
                self._existing |= bit
            elif len(negative) > 1:
                self._several.append((bit, field))
            else:
                accepted += [(number, condition) for condition in field.conditions if condition not in negative]
                excluded += [(number, condition) for one in negative for condition in one.excluded]
                self._excluding |= bit if negative else 0
        self._accepted = _Conditions(accepted)
        self._excluded = _Conditions(excluded)

    @property
    def spread(self) -> int:
        """How many values the index tells apart by hashing."""
        return len(self._accepted.exact)

    def bits(self, value: Scalar, among: int) -> int:
        """The alternatives that a value satisfies; of those outside of `among` nothing is said."""
        found = self._existing | self._accepted.bits(value, among)
        excluding = self._excluding & among
        if excluding:
            found |= excluding & ~self._excluded.bits(value, among)
        for bit, field in self._several:
            if bit & among and field.accepts(value):
                found |= bit
        return found


class _Ids:
    """A set of alternatives, which becomes an integer when it is needed first."""

    __slots__ = ("_bits", "_ids")

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._bits: int | None = None

    def add(self, number: int) -> None:
        self._ids.append(number)

    @property
    def bits(self) -> int:
        if self._bits is None:
            self._bits = bits_of(self._ids)
        return self._bits


class _Conditions:
    """Conditions, each with the alternative that it belongs to."""

    def __init__(self, conditions: Iterable[tuple[int, Condition]]) -> None:
        self.exact: dict[object, _Ids] = {}
        self._folded: dict[str, _Ids] = {}
        self._ranges: list[tuple[Range, int]] = []
        affixes: dict[tuple[type, bool], dict[str, list[int]]] = {}
        wilds: dict[Wild, _Ids] = {}
        networks: dict[tuple[int, int], dict[int, _Ids]] = {}
        for number, condition in conditions:
            match condition:
                case Equals(value):
                    self.exact.setdefault(key_of(value), _Ids()).add(number)
                case EqualsIgnoreCase(folded):
                    self._folded.setdefault(folded, _Ids()).add(number)
                case Prefix(text, any_case):
                    affixes.setdefault((Prefix, any_case), {}).setdefault(text, []).append(number)
                case Suffix(text, any_case):
                    affixes.setdefault((Suffix, any_case), {}).setdefault(text[::-1], []).append(number)
                case Wild():
                    wilds.setdefault(condition, _Ids()).add(number)
                case Range():
                    self._ranges.append((condition, number))
                case Cidr(_, network):
                    kind = (network.version, network.max_prefixlen - network.prefixlen)
                    networks.setdefault(kind, {}).setdefault(int(network.network_address) >> kind[1], _Ids()).add(
                        number
                    )
                case Exists() | AnythingBut():
                    raise AssertionError("the index of the field holds these")
        self._affixes = [(kind is Suffix, any_case, Affixes(ids)) for (kind, any_case), ids in affixes.items()]
        self._wilds = list(wilds.items())
        self._heads = _heads(list(wilds))
        self._networks = networks
        self._has_texts = bool(self._folded or affixes or wilds or networks)
        self._bounds = sorted({bound for one, _ in self._ranges for bound in (one.low, one.high) if bound is not None})
        self._intervals: dict[int, int] = {}

    def bits(self, value: Scalar, among: int) -> int:
        """The alternatives of which a condition accepts a value; of those outside of `among` nothing is said."""
        if isinstance(value, str):
            exact = self.exact.get(value)
            found = exact.bits if exact is not None else 0
            return found | self._bits_of_text(value, among) if self._has_texts else found
        exact = self.exact.get(key_of(value))
        found = exact.bits if exact is not None else 0
        if self._ranges and isinstance(value, int | float) and not isinstance(value, bool):
            found |= self._bits_of_number(value)
        return found

    def _bits_of_text(self, value: str, among: int) -> int:
        found = 0
        folded = value.lower()
        ids = self._folded.get(folded)
        if ids is not None:
            found |= ids.bits
        for is_suffix, any_case, affixes in self._affixes:
            text = folded if any_case else value
            found |= affixes.bits(text[::-1] if is_suffix else text)
        if self._heads is not None:
            for at in places(self._heads.bits(value)):
                wild, ids = self._wilds[at]
                if ids.bits & among and wild.wildcard.matches(value):
                    found |= ids.bits
        return found | self._bits_of_address(value) if self._networks else found

    def _bits_of_address(self, value: str) -> int:
        address = address_of(value)
        if address is None:
            return 0
        found = 0
        for (version, shift), networks in self._networks.items():
            ids = networks.get(int(address) >> shift) if version == address.version else None
            if ids is not None:
                found |= ids.bits
        return found

    def _bits_of_number(self, value: Number) -> int:
        """All numbers between two neighbouring bounds are in the same ranges, and so is each bound with itself."""
        at = bisect_left(self._bounds, value)
        is_bound = at < len(self._bounds) and self._bounds[at] == value
        interval = 2 * at + is_bound
        known = self._intervals.get(interval)
        if known is None:
            known = bits_of(number for one, number in self._ranges if one.accepts(value))
            if len(self._intervals) < INTERVALS_KEPT_MAX:
                self._intervals[interval] = known
        return known


def _heads(wilds: list[Wild]) -> Affixes | None:
    """The wildcard patterns by what stands before their first star."""
    heads: dict[str, list[int]] = {}
    for at, wild in enumerate(wilds):
        head = wild.wildcard.pieces[0]
        heads.setdefault(head if isinstance(head, str) else "", []).append(at)
    return Affixes(heads) if heads else None


def bits_of(ids: Iterable[int]) -> int:
    """The set of these ids as an integer."""
    found = bytearray()
    for number in ids:
        place = number >> 3
        if place >= len(found):
            found.extend(bytes(place + 1 - len(found)))
        found[place] |= 1 << (number & 7)
    return int.from_bytes(found, "little")


def places(bits: int) -> Iterator[int]:
    """The ids in a set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
