"""The imports of a proof, which take longer than many a proof: what each needs, and nothing else."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import click
from rich.console import Console

from redrive.core.garbage import not_collected
from redrive.core.made_code import compiled_once

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULES = ("redrive.prove.search.options", "redrive.prove.whole", "redrive.cli.prove_result")
"""What each proof needs before its verdict."""


def load_engine(subject: object, *, is_system: bool) -> None:
    """Import what a proof needs, and say so: that takes half of a second."""
    modules = [*_MODULES, "redrive.prove.system.proving" if is_system else "redrive.prove.proving"]
    console = Console(stderr=True)
    if not console.is_terminal:
        click.echo(f"proving {subject}", err=True)
    with (
        console.status(f"{subject}: loading the engine"),
        not_collected(),
        compiled_once("prove-engine"),
        _without_pytest(),
    ):
        for name in modules:
            import_module(name)


@contextmanager
def _without_pytest() -> Iterator[None]:
    """While entered, time-machine imports no pytest, for which it has a plugin: no test runs in this process."""
    if "pytest" in sys.modules:
        yield
        return
    sys.modules["pytest"] = None  # type: ignore[assignment] # Importing it fails then.
    try:
        yield
    finally:
        del sys.modules["pytest"]
