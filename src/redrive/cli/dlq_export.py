"""`redrive dlq export`: writes the letters of a queue to a file; the queue stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.reading_letters import counted, look_at, queue_argument, shown
from redrive.deadletters.letter_files import written_letters


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
