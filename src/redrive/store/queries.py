"""Named SQL: `sql/<table>.sql` has blocks that begin with `-- name: verb`. The text below is one statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

_HEADING = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)


def load_queries(table: str) -> Mapping[str, str]:
    """The statements of one table, by name. A missing name raises KeyError when it is used."""
    text = resources.files("redrive.store").joinpath("sql", f"{table}.sql").read_text("utf-8")
    pieces = _HEADING.split(text)
    return {name: body.strip().rstrip(";") for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
