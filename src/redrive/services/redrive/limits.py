"""Limits and defaults of redrive's own API that its model does not contain."""

from __future__ import annotations

PAGE = 100
"""How many runs a page has by default."""
