"""A drawing shows every state once, and the path that was taken."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.languages.states import StateMachine
from redrive.languages.states.drawing import Passage, Trace, Visit, draw_lines, draw_svg
from redrive.languages.states.drawing.layout import Box, Picture, lay_out
from tests.unit.languages.states.worlds import FUNCTION, machine


def _file_machine() -> StateMachine:
    return machine(
        {
            "Read": {
                "Type": "Task",
                "Resource": FUNCTION,
                "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Tell"}],
                "Next": "Check",
            },
            "Check": {
                "Type": "Choice",
                "Choices": [{"Variable": "$.n", "NumericGreaterThan": 1, "Next": "Each"}],
                "Default": "Tell",
            },
            "Each": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "One", "States": {"One": {"Type": "Pass", "End": True}}},
                "Next": "Again",
            },
            "Again": {
                "Type": "Choice",
                "Choices": [{"Variable": "$.more", "BooleanEquals": True, "Next": "Read"}],
                "Default": "Done",
            },
            "Done": {"Type": "Succeed"},
            "Tell": {"Type": "Fail"},
        }
    )


TRACE = Trace(
    {
        "Read": Visit(Passage.SUCCEEDED, 3, "2 retries"),
        "Check": Visit(Passage.SUCCEEDED),
        "Each": Visit(Passage.RUNNING),
        "One": Visit(Passage.FAILED, 1, "<boom> & more"),
    },
    frozenset({("Read", "Check"), ("Check", "Each")}),
)


def test_lines_follow_the_regular_way_and_mark_what_was_taken() -> None:
    assert draw_lines(_file_machine(), TRACE) == [
        "● Read  Task ×3  2 retries",
        "┃ ╰─▷ on States.ALL: Tell",
        "┃",
        "● Check  Choice",
        "┃ ├━▶ if $.n > 1: Each",
        "┃ ╰─▷ otherwise: Tell",
        "┃",
        "◐ Each  Map",
        "│    ╷ each item (inline)",
        "│    ✗ One  Pass  <boom> & more",
        "│    □",
        "│",
        "○ Again  Choice",
        "│ ├─▷ if $.more = true: Read",
        "│ ╰─▷ otherwise: Done",
        "│",
        "○ Done  Succeed",
        "□",
        "○ Tell  Fail",
        "□",
    ]


def test_svg_has_a_box_for_each_state_and_thick_ways_for_those_taken() -> None:
    tree = ET.fromstring(draw_svg(_file_machine(), TRACE))

    boxes = [one.get("data-state") for one in tree.iter() if one.get("data-state")]
    taken = [one for one in tree.iter() if one.get("class") == "taken"]
    titles = [one.text for one in tree.iter() if one.tag.endswith("title")]
    assert sorted(map(str, boxes)) == ["Again", "Check", "Done", "Each", "One", "Read", "Tell"]
    assert len(taken) == 2
    assert "One: failed: <boom> & more" in titles


NAMES = [f"S{number}" for number in range(7)]


@st.composite
def _machines(draw: st.DrawFn) -> StateMachine:
    """Machines in which each state leads to some others, so that loops occur; all can be reached."""
    states: dict[str, Any] = {}
    for index, name in enumerate(NAMES):
        targets = [NAMES[min(index + 1, len(NAMES) - 1)], *draw(st.lists(st.sampled_from(NAMES), max_size=2))]
        states[name] = {
            "Type": "Choice",
            "Choices": [{"Variable": "$", "IsNull": True, "Next": target} for target in targets],
        }
    return machine(states)


def _boxes(picture: Picture) -> list[Box]:
    return list(picture.boxes)


@settings(max_examples=40)
@given(_machines())
def test_boxes_never_overlap_and_stay_inside_of_their_picture(one: StateMachine) -> None:
    picture = lay_out(one)

    boxes = _boxes(picture)
    assert sorted(box.state.name for box in boxes) == NAMES
    assert all(box.x >= 0 and box.x + box.width <= picture.width for box in boxes)
    assert all(box.y >= 0 and box.y + box.height <= picture.height for box in boxes)
    for index, first in enumerate(boxes):
        for second in boxes[index + 1 :]:
            beside = first.x + first.width <= second.x or second.x + second.width <= first.x
            above = first.y + first.height <= second.y or second.y + second.height <= first.y
            assert beside or above
    ET.fromstring(draw_svg(one, Trace()))
    assert sum(line.startswith("○ ") for line in draw_lines(one, Trace())) == len(NAMES)


def test_ways_that_lead_to_no_next_row_go_around_the_boxes_each_in_its_lane() -> None:
    picture = lay_out(_file_machine())

    lanes = [arrow.lane for arrow in picture.arrows if arrow.lane]
    right = max(box.x + box.width for box in picture.boxes)

    assert {(arrow.source, arrow.target) for arrow in picture.arrows if arrow.lane} == {
        ("Read", "Tell"), ("Again", "Read"),
    }  # fmt: skip
    assert len(set(lanes)) == len(lanes)
    assert right + max(lanes) <= picture.width
