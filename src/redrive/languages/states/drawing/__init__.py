"""Draws a state machine and the path that an execution took: as lines of text, and as SVG."""

from __future__ import annotations

from redrive.languages.states.drawing.lines import draw_lines
from redrive.languages.states.drawing.svg import draw_svg
from redrive.languages.states.drawing.trace import Passage, Trace, Visit

__all__ = ["Passage", "Trace", "Visit", "draw_lines", "draw_svg"]
