"""A machine as SVG: one document, without scripts, fonts or anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from redrive.languages.states.definition import Branch
from redrive.languages.states.drawing.layout import TITLE_HEIGHT, Arrow, Box, Picture, lay_out
from redrive.languages.states.drawing.trace import Passage, Trace

MARGIN = 24

_FILLS: Final = {
    Passage.RUNNING: "#dbeafe",
    Passage.SUCCEEDED: "#dcfce7",
    Passage.CAUGHT: "#fef3c7",
    Passage.FAILED: "#fee2e2",
}
NOT_VISITED = "#ffffff"
_STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#111827}.type,.label{font-size:11px;fill:#6b7280}"
    ".label{paint-order:stroke;stroke:#ffffff;stroke-width:3px}"
    "rect{stroke:#9ca3af;stroke-width:1}rect.visited{stroke:#111827;stroke-width:2}"
    "path{fill:none;stroke:#9ca3af;stroke-width:1}path.taken{stroke:#111827;stroke-width:2.5}"
)
_ARROW = (
    '<marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" '
    'markerUnits="userSpaceOnUse" orient="auto">'
    '<polygon points="0,0 8,4 0,8" fill="#6b7280"/></marker>'
)


def draw_svg(branch: Branch, trace: Trace) -> str:
    """The machine; visited states are coloured, transitions that were taken are thick."""
    picture = lay_out(branch)
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{_STYLE}</style><defs>{_ARROW}</defs>",
        *_picture(picture.moved(MARGIN, MARGIN), trace),
        "</svg>",
    ]
    return "\n".join(parts)


def _picture(picture: Picture, trace: Trace) -> Iterator[str]:
    places = {box.state.name: box for box in picture.boxes}
    right = max((box.x + box.width for box in picture.boxes), default=0)
    for arrow in picture.arrows:
        taken = (arrow.source, arrow.target) in trace.moves
        yield _arrow(arrow, places[arrow.source], places[arrow.target], right, taken=taken)
    for box in picture.boxes:
        yield from _box(box, trace)


def _box(box: Box, trace: Trace) -> Iterator[str]:
    visit = trace.visits.get(box.state.name)
    fill = NOT_VISITED if visit is None else _FILLS[visit.passage]
    css = "visited" if visit is not None else "state"
    middle = box.x + box.width // 2
    yield f'<g data-state={quoteattr(box.state.name)}><rect class="{css}" x="{box.x}" y="{box.y}" width="{box.width}" '
    yield f'height="{box.height}" rx="6" fill="{fill}"/>'
    if visit is not None:
        yield f"<title>{escape(_told(box, visit.passage, visit.count, visit.note))}</title>"
    yield f'<text x="{middle}" y="{box.y + 18}" text-anchor="middle">{escape(box.state.name)}</text>'
    times = f" ×{visit.count}" if visit is not None and visit.count > 1 else ""
    type_y = box.y + TITLE_HEIGHT
    yield f'<text class="type" x="{middle}" y="{type_y}" text-anchor="middle">{box.state.type}{times}</text>'
    for picture in box.inner:
        yield from _picture(picture, trace)
    yield "</g>"


def _told(box: Box, passage: Passage, count: int, note: str) -> str:
    times = f", {count} times" if count > 1 else ""
    return f"{box.state.name}: {passage.value}{times}{f': {note}' if note else ''}"


def _arrow(arrow: Arrow, source: Box, target: Box, right: int, *, taken: bool) -> str:
    css = "taken" if taken else "way"
    if arrow.lane:
        x, y = source.x + source.width, source.y + source.height // 2
        end_x, end_y = target.x + target.width, target.y + target.height // 2
        side, label_x, label_y = right + arrow.lane, x + 4, y - 4
        line = f"M{x},{y} L{side},{y} L{side},{end_y} L{end_x},{end_y}"
    else:
        x, y = source.x + source.width // 2, source.y + source.height
        end_x, end_y = target.x + target.width // 2, target.y
        middle, label_x, label_y = (y + end_y) // 2, (x + end_x) // 2 + 6, (y + end_y) // 2 + 4
        line = f"M{x},{y} C{x},{middle} {end_x},{middle} {end_x},{end_y}"
    path = f'<path class="{css}" d="{line}" marker-end="url(#end)"/>'
    if not arrow.label:
        return path
    return f'{path}<text class="label" x="{label_x}" y="{label_y}">{escape(arrow.label)}</text>'
