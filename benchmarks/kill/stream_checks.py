"""What has to be true of streams, of what functions did with their records, and of indexes. Each check lists what is
wrong. A history is the list of a key's numbers, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redrive.core.documents import Document


def contents(stream: str, written: Mapping[str, Sequence[int]], found: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """A stream has what was acknowledged, in the order of each key. A write that was repeated may be there twice."""
    for key in sorted({*written, *found}):
        numbers = list(dict.fromkeys(found.get(key, ())))
        if numbers != list(written.get(key, ())):
            yield f"{stream}: {key} has {_first_difference(numbers, written.get(key, ()))}"


def exactly(stream: str, found: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Each change of an item has one record."""
    for key, numbers in found.items():
        if len(set(numbers)) < len(numbers):
            yield f"{stream}: {key} has {len(numbers) - len(set(numbers))} records twice"


def in_order(
    function: str, written: Mapping[str, Sequence[int]], done: Mapping[str, Sequence[int]],
    given_up: Mapping[str, set[int]],
) -> Iterator[str]:  # fmt: skip
    """A function has done each record, or it was given up; and the first time of each, in the order of its key.

    `done` are the numbers as the function did them, also several times.
    """
    for key, numbers in written.items():
        first = list(dict.fromkeys(done.get(key, ())))
        left_out = given_up.get(key, set())
        skipped = [number for number in numbers if number not in set(first) and number not in left_out]
        if skipped:
            yield f"{function}: {len(skipped)} records of {key} were skipped: {skipped[:5]}"
        places = {number: place for place, number in enumerate(numbers)}
        unknown = [number for number in first if number not in places]
        if unknown:
            yield f"{function}: {key} has {unknown[:5]}, which nobody wrote"
        latest = -1
        for number in first:
            place = places.get(number, latest)
            if place < latest:
                yield f"{function}: {key} had {number} after {numbers[latest]}"
            latest = max(latest, place)


def table(known: Mapping[str, Document], items: Mapping[str, Document]) -> Iterator[str]:
    """A table has the items as they were last written."""
    for key in sorted({*known, *items}):
        if known.get(key) != items.get(key):
            yield f"{key}: was written as {known.get(key)}, and is {items.get(key)}"


def index(name: str, key_name: str, items: Mapping[str, Document], entries: Mapping[str, Document]) -> Iterator[str]:
    """An index with all attributes has the items that have its key."""
    expected = {key: item for key, item in items.items() if key_name in item}
    for key in sorted({*expected, *entries}):
        if expected.get(key) != entries.get(key):
            yield f"{name}: has {key} as {entries.get(key)}, but the item is {items.get(key)}"


def _first_difference(found: Sequence[int], wanted: Sequence[int]) -> str:
    place = next((n for n, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), None)
    if place is None:
        return f"{len(found)} numbers, of {len(wanted)}"
    return f"{found[place]} for {wanted[place]}"
