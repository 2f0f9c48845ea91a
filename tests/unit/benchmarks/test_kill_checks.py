"""The checks of the kill run find each planted defect, and find nothing in a history without one."""

from __future__ import annotations

import pytest

from benchmarks.kill import checks
from benchmarks.kill.memory import Memory, Received


def received(body: str, at: float, *, id: str = "", answer: int = 0, sent_ms: int = 1_000) -> Received:
    """A message in the hands of a client at this second."""
    return Received(id or body, body, body.rpartition("-")[0], sent_ms, at - 0.1, at, answer or round(at * 10))


@pytest.fixture
def memory() -> Memory:
    """Three messages of a group, received one after another and deleted half a second later."""
    made = Memory()
    for number in range(3):
        made.sent["q"].append(f"g-{number}")
        made.received["q"].append(received(f"g-{number}", 10.0 + number))
        made.delete_begun[f"g-{number}"] = 10.4 + number
        made.deleted[f"g-{number}"] = 10.5 + number
    made.due_ms["g-0"] = 900
    made.counted["c"], made.in_doubt["c"] = 5, 2
    made.puts["race"] = [("left", "won"), ("right", "lost")]
    return made


def found(memory: Memory, values: dict[str, int], winners: dict[str, str]) -> list[str]:
    """What all checks say."""
    return [
        *checks.lost(memory, "q", checks.bodies(memory, "q")),
        *checks.twice(memory, "q"),
        *checks.returned(memory, "q"),
        *checks.visible_too_early(memory, "q", 5),
        *checks.disorder(memory, "q"),
        *checks.early(memory, "q"),
        *checks.miscounted(memory, values),
        *checks.ill_won(memory, winners),
    ]


@pytest.mark.parametrize("value", [5, 6, 7])
def test_history_without_a_defect_is_right_whatever_became_of_doubts(memory: Memory, value: int) -> None:
    assert found(memory, {"c": value}, {"race": "left"}) == []


@pytest.mark.parametrize("value", [4, 8])
def test_counter_beyond_its_bounds_is_found(memory: Memory, value: int) -> None:
    said = found(memory, {"c": value}, {"race": "left"})

    assert said == [f"c: is {value} after 5 acknowledged increments and 2 in doubt"]


def test_lost_message_is_found(memory: Memory) -> None:
    memory.sent["q"].append("g-9")

    assert list(checks.lost(memory, "q", checks.bodies(memory, "q"))) == ["q: g-9 was acknowledged and is lost"]


def test_second_message_of_one_send_is_found(memory: Memory) -> None:
    memory.received["q"].append(received("g-2", 12.0, id="another"))

    assert list(checks.twice(memory, "q")) == ["q: g-2 is in 2 messages"]


def test_message_that_comes_back_after_its_deletion_is_found(memory: Memory) -> None:
    memory.received["q"].append(received("g-0", 20.0))

    assert list(checks.returned(memory, "q")) == ["q: g-0 was received after it was deleted"]


def test_message_in_two_hands_is_found(memory: Memory) -> None:
    memory.received["q"].append(received("g-0", 12.0))

    assert list(checks.visible_too_early(memory, "q", 5)) == ["q: g-0 was received again 2.9 s too early"]


def test_message_that_overtakes_its_group_is_found(memory: Memory) -> None:
    memory.delete_begun["g-0"] = 11.2

    assert list(checks.disorder(memory, "q")) == ["q: g-1 was received while an earlier message was not deleted"]


def test_answer_that_leaves_a_message_out_is_found() -> None:
    memory = Memory()
    for number in (0, 2):
        memory.received["q"].append(received(f"g-{number}", 10.0))
    memory.received["q"].append(received("g-1", 11.0))
    memory.delete_begun |= {"g-0": 10.1, "g-1": 11.1, "g-2": 10.1}

    assert list(checks.disorder(memory, "q")) == ["q: an answer holds g's messages [0, 2]"]


def test_schedule_that_fires_early_is_found(memory: Memory) -> None:
    memory.due_ms["g-1"] = 1_200

    assert list(checks.early(memory, "q")) == ["q: g-1 was sent 200 ms before it was due"]


@pytest.mark.parametrize(
    ("tries", "winner", "said"),
    [
        ([("left", "won"), ("right", "won")], "left",
         ["race: won 2 times", "race: right has won, but it holds left"]),
        ([("left", "won"), ("right", "lost")], "right",
         ["race: left has won, but it holds right", "race: right was refused, but it holds right"]),
        ([("left", "lost"), ("right", "lost")], None, ["race: a put was refused, but there is no item"]),
        ([("left", "doubt"), ("right", "lost")], "left", []),
        ([("left", "doubt")], None, []),
    ],
)  # fmt: skip
def test_race_that_is_not_won_exactly_once_is_found(
    tries: list[tuple[str, str]], winner: str | None, said: list[str]
) -> None:
    memory = Memory()
    memory.puts["race"] = tries

    assert list(checks.ill_won(memory, {} if winner is None else {"race": winner})) == said
