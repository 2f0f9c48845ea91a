"""Where a store is, as --data and --store say: a directory, a PostgreSQL database, or memory."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from redrive.core.errors import UserError
from redrive.store.place import Place
from redrive.store.postgres.url import EXAMPLE, is_postgresql, parse_url

VARIABLE = "REDRIVE_STORE"
USAGE = 2

store_option = click.option(
    "--store",
    metavar="URL",
    envvar=VARIABLE,
    help=f"Where to keep everything: memory:, sqlite:DIR or {EXAMPLE}. Also from {VARIABLE}.",
)


def place_of(store: str | None, data: Path | None = None) -> Place | None:
    """The place that --store or --data names; None for memory.

    --data goes before the variable, as what is typed does. Errors: UserError: both are given, or the URL is none.
    """
    if data is not None:
        context = click.get_current_context()
        if store is not None and context.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            raise UserError(
                "--data and --store say the same thing twice.", next_step="Give one of them.", exit_code=USAGE
            )
        return data
    if store is None:
        return None
    if is_postgresql(store):
        return parse_url(store)
    scheme, _, path = store.partition(":")
    if scheme == "memory" and not path:
        return None
    if scheme == "sqlite" and path:
        return Path(path)
    raise UserError(
        f"--store names no store that redrive knows ({scheme}:).",
        next_step=f"Write memory:, sqlite:DIRECTORY or {EXAMPLE}.", exit_code=USAGE,
    )  # fmt: skip


def named_place(text: str) -> Place:
    """The place that an argument names: a directory, with sqlite: before it or not, or a URL. Errors: UserError."""
    if is_postgresql(text):
        return parse_url(text)
    path = text.removeprefix("sqlite:")
    if not path:
        raise UserError(
            "The name of the store is empty.", next_step=f"Name a directory, or {EXAMPLE}.", exit_code=USAGE
        )
    return Path(path)


def directory_of(text: str, command: str, instead: str) -> Path:
    """The directory that an argument names. Errors: UserError if it names a database, which the command cannot do."""
    place = named_place(text)
    if not isinstance(place, Path):
        raise UserError(
            f"redrive store {command} works on directories, not on {place}.", next_step=instead, exit_code=USAGE
        )
    return place
