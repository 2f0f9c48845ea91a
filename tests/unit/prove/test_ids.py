"""Ids follow from where they are drawn, and those that nobody holds any more are all alike."""

from __future__ import annotations

from redrive.core.entropy import new_uuid
from redrive.prove.stage.ids import Ids, renamed


def test_same_place_draws_the_same_ids_and_another_place_others() -> None:
    ids = Ids(7)
    ids.begin(1_000, 0)
    first = [ids.hex(16), ids.hex(16)]

    ids.begin(1_000, 1)
    elsewhere = [ids.hex(16), ids.hex(16)]
    ids.begin(1_000, 0)
    again = [ids.hex(16), ids.hex(16)]

    assert first == again
    assert len({*first, *elsewhere}) == 4
    assert first[0] != Ids(8).hex(16)


def test_long_draws_and_numbers_follow_from_the_place_too() -> None:
    ids, same = Ids(7), Ids(7)

    drawn = [ids.hex(100), ids.uniform(2, 3), ids.fork("a").hex(8)]

    assert drawn == [same.hex(100), same.uniform(2, 3), same.fork("a").hex(8)]
    assert len(str(drawn[0])) == 100


def test_ids_that_nobody_holds_are_told_apart_by_their_order_alone() -> None:
    ids = Ids(7)
    first, second = new_uuid(ids), new_uuid(ids)
    third, fourth = new_uuid(ids), new_uuid(ids)

    def told(text: str, held: str = "") -> str:
        return renamed([text], held, ids.drawn)

    assert told(f"{first}/{second} {first}") == told(f"{third}/{fourth} {third}")
    assert told(f"{first} {second}") != told(f"{first} {first}")
    assert told(first, held=first) == first
    assert told(first, held=first) != told(second, held=first)


def test_ids_that_were_not_drawn_here_keep_their_text() -> None:
    given = "5068e532-bca5-4efc-be63-c93601fe6344"

    assert renamed([given], "", Ids(7).drawn) == given


def test_id_has_one_number_in_all_parts_of_a_text() -> None:
    ids = Ids(7)
    first, second, third = new_uuid(ids), new_uuid(ids), new_uuid(ids)

    both = renamed([f"row {first} of {second};", f"trace {first}"], "", ids.drawn)
    likewise = renamed([f"row {second} of {third};", f"trace {second}"], "", ids.drawn)
    crossed = renamed([f"row {first} of {second};", f"trace {second}"], "", ids.drawn)

    assert both == likewise
    assert both != crossed
