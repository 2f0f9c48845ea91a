"""What a definition should do better: rules that a valid machine may still break."""

from __future__ import annotations

from redrive.languages.states.lint.findings import Finding, Level
from redrive.languages.states.lint.rules import lint

__all__ = ["Finding", "Level", "lint"]
