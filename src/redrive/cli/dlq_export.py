"""`redrive dlq export`: writes the letters of a queue to a file; the queue stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.reading_letters import counted, look_at, queue_argument, shown
from redrive.core.errors import UserError


@click.command()
@queue_argument
@click.option(
    "--to",
    "file",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file: a line for a letter.",
)
@place_options
def export(queue: str, file: Path, place: Place) -> None:
    """Write the letters of a queue to a file, in JSON, one a line. An export that was interrupted goes on.

    Letters that the file has already are not written again; a last line that is not whole is cut off first.
    """
    known = set(written_letters(file))
    with look_at(place, queue) as (look, depth), file.open("a", encoding="utf-8") as out:
        written = 0
        for letter in counted(look.letters(), depth.visible, "writing"):
            if letter.message_id not in known:
                out.write(json.dumps(shown(letter) | {"body": letter.body}, ensure_ascii=False) + "\n")
                written += 1
    click.echo(f"{written} letters were written to {file}, which has {written + len(known)} now.", err=True)


def written_letters(file: Path) -> Iterator[str]:
    """The ids of the letters in the file. A last line without its end was being written when the export stopped."""
    if not file.exists():
        return
    whole = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                break
            try:
                yield str(json.loads(line)["message_id"])
            except (ValueError, KeyError, TypeError):
                raise UserError(
                    f"Line {number} of {file} is no letter.", next_step="Name another file.", exit_code=2
                ) from None
            whole += len(line)
    if whole < file.stat().st_size:
        with file.open("r+b") as lines:
            lines.truncate(whole)
