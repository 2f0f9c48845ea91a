"""Files that redrive keeps in a project, in a folder that git ignores and no archive of code has."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(".redrive")
VERDICTS = FOLDER / "verdicts.json"
"""What proofs have found: `redrive prove` writes it, `redrive dlq check` reads it."""


def make_folder(directory: Path) -> None:
    """Make the folder in a project, if it is not there. Errors: OSError."""
    folder = directory / FOLDER
    folder.mkdir(exist_ok=True)
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", "utf-8")
