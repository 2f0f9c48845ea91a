"""Bounds and defaults of the server's own surface that its model does not say."""

from __future__ import annotations

PAGE = 100
"""How many runs a page has, unless the caller says."""
