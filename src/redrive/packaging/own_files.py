"""Files that redrive keeps in a project, in a folder that git ignores and no archive of code has."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(".redrive")
VERDICTS = FOLDER / "verdicts.json"
"""What proofs have found: `redrive prove` writes it, `redrive dlq check` reads it."""
