"""Asks the user before something is deleted."""

from __future__ import annotations

import sys

import click

from redrive.core.errors import UserError

REFUSED = 4


def require_consent(what: str, command: str) -> None:
    """Ask whether to go on; `command` goes on without asking.

    Errors: UserError: the answer is no, or nobody can answer.
    """
    if not sys.stdin.isatty():
        raise UserError(
            f"This would {what}, and nobody can be asked.", next_step=f"Say so: {command}", exit_code=REFUSED
        )
    if not click.confirm(f"{what[0].upper()}{what[1:]}?", err=True):
        raise UserError("Nothing was done.", exit_code=REFUSED)
