"""Variables that a project gives its handlers: `.env`, a file that is named, and single ones.

Credentials and settings of AWS in them are never used: a proof has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from redrive.core.errors import UserError
from redrive.prove.guess.variables import is_of_aws

FILE = ".env"
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*?)\s*$")
_COMMENT = re.compile(r"\s+#.*$")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_variables(file: Path) -> dict[str, str]:
    """The variables of a file of lines NAME=VALUE, without those of AWS. Errors: UserError."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The file of variables {file} cannot be read: {error}.", exit_code=2) from error
    found = {}
    for line in text.splitlines():
        named = _LINE.match(line)
        if named is not None and not line.lstrip().startswith("#") and not is_of_aws(named["name"]):
            found[named["name"]] = _unquoted(named["value"])
    return found


def pairs_of(texts: Iterable[str], option: str) -> dict[str, str]:
    """`KEY=VALUE` texts of a repeatable option. Errors: UserError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UserError(f"{option} {text!r} is not KEY=VALUE.", exit_code=2)
        found[name] = value
    return found


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1]
    if len(value) > 1 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), value[1:-1])
    return _COMMENT.sub("", value)
