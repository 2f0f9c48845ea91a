"""Where the boxes of a machine stand: rows from top to bottom, branches inside of the state they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from redrive.languages.states.definition import Branch, State
from redrive.languages.states.drawing.labels import ways_of
from redrive.languages.states.drawing.order import reading_order, rows_of
from redrive.languages.states.graph import branches_of

CHARACTER_WIDTH = 8
BOX_HEIGHT = 44
BOX_WIDTH_MIN = 120
TITLE_HEIGHT = 34
GAP = 28
ROW_GAP = 46
PADDING = 14
LANE = 12
LABEL_WIDTH = 7
"""The width of a character of a label."""


@dataclass(frozen=True, slots=True)
class Box:
    """A state: its corner on the left above, its size, and the pictures of its branches inside of it."""

    state: State
    x: int
    y: int
    width: int
    height: int
    inner: tuple[Picture, ...] = ()

    def moved(self, x: int, y: int) -> Box:
        """The same box elsewhere."""
        inner = tuple(picture.moved(x, y) for picture in self.inner)
        return Box(self.state, self.x + x, self.y + y, self.width, self.height, inner)


@dataclass(frozen=True, slots=True)
class Arrow:
    """A transition between two boxes of one picture.

    One that does not lead to the next row goes around the boxes, on the right, in a lane of its own: `lane` is how far
    behind the boxes that is, and 0 for a straight way.
    """

    source: str
    target: str
    label: str
    lane: int


@dataclass(frozen=True, slots=True)
class Picture:
    """The boxes of a branch by name, its arrows, and its size."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: int
    height: int

    def moved(self, x: int, y: int) -> Picture:
        """The same picture elsewhere."""
        return Picture(tuple(box.moved(x, y) for box in self.boxes), self.arrows, self.width, self.height)


def lay_out(branch: Branch) -> Picture:
    """The picture of a branch, from 0, 0 on."""
    rows = rows_of(branch)
    by_row: dict[int, list[Box]] = {}
    for name in reading_order(branch):
        by_row.setdefault(rows[name], []).append(_box(branch.states[name]))
    width = max((_row_width(row) for row in by_row.values()), default=0)
    boxes: list[Box] = []
    y = 0
    for index in sorted(by_row):
        row = by_row[index]
        x = (width - _row_width(row)) // 2
        for box in row:
            boxes.append(box.moved(x, y))
            x += box.width + GAP
        y += max(box.height for box in row) + ROW_GAP
    arrows = tuple(_arrows(branch, rows))
    around = max((arrow.lane for arrow in arrows), default=0)
    return Picture(tuple(boxes), arrows, width + around, max(0, y - ROW_GAP))


def _arrows(branch: Branch, rows: Mapping[str, int]) -> Iterator[Arrow]:
    """The transitions of a branch. The lanes stand behind the longest label of those that go around."""
    ways = [(name, way) for name, state in branch.states.items() for way in ways_of(state) if way.target in rows]
    straight = {name: rows[name] + 1 for name in branch.states}
    around = [way for name, way in ways if rows[way.target] != straight[name]]
    behind = max((len(way.label) for way in around), default=0) * LABEL_WIDTH
    lane = behind
    for name, way in ways:
        if rows[way.target] == straight[name]:
            yield Arrow(name, way.target, way.label, 0)
        else:
            lane += LANE
            yield Arrow(name, way.target, way.label, lane)


def _row_width(row: list[Box]) -> int:
    return sum(box.width for box in row) + GAP * (len(row) - 1)


def _box(state: State) -> Box:
    text = max(len(state.name), len(state.type)) * CHARACTER_WIDTH + 2 * PADDING
    pictures = [lay_out(branch) for _, branch in branches_of(state)]
    if not pictures:
        return Box(state, 0, 0, max(text, BOX_WIDTH_MIN), BOX_HEIGHT)
    inner: list[Picture] = []
    x = PADDING
    for picture in pictures:
        inner.append(picture.moved(x, TITLE_HEIGHT + PADDING))
        x += picture.width + GAP
    width = max(text, BOX_WIDTH_MIN, x - GAP + PADDING)
    height = TITLE_HEIGHT + 2 * PADDING + max(picture.height for picture in pictures)
    return Box(state, 0, 0, width, height, tuple(inner))
