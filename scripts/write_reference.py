"""Writes what follows from the code and from the model of our own surface: docs/reference, and the CLI's client.

`make docs` runs it; a test fails when a page is not what it would write.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from redrive.cli.main import COMMANDS, main
from redrive.engine.build import SERVICES
from redrive.engine.registry import Registry
from redrive.wire.model.files import Models
from redrive.wire.services import OWN_SERVICE
from scripts.write_surface import admin_page, client_module, openapi_page

ROOT = Path(__file__).parents[1]
WIDTH = 100

_LEDE = (
    "What the engine implements, by service. Written by `make docs`. Our own surface has [a page of its own](admin.md)."
)


def operations_page() -> str:
    """Every operation that the engine has, with its first sentence, and how many AWS has."""
    models = Models()
    registry = Registry(models, SERVICES)
    lines = ["# Operations", "", _LEDE, ""]

    for service, implementations in sorted(registry.services.items()):
        if service == OWN_SERVICE.name:
            continue
        known = len(models.service(service).operations)
        lines += [f"## {service}", "", f"{len(implementations)} of AWS's {known} operations.", ""]
        lines += ["| Operation | What it does |", "|---|---|"]
        for name, implementation in sorted(implementations.items()):
            sentence = (inspect.getdoc(implementation) or "").split("\n\n")[0].replace("\n", " ")
            lines.append(f"| {name} | {sentence} |")
        lines.append("")
    return "\n".join(lines)


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Commands", "", "What `redrive` can do. Written by `make docs`.", ""]
    # A command keeps the help option of the first context that asks for it: this one's must be that of a real call.
    context = click.Context(main, info_name="redrive", terminal_width=WIDTH, **main.context_settings)
    for name in sorted(COMMANDS):
        command = main.get_command(context, name)
        assert command is not None
        lines += _help(command, click.Context(command, parent=context, info_name=name, terminal_width=WIDTH))
    return "\n".join(lines)


def _help(command: click.Command, context: click.Context) -> list[str]:
    lines = [f"## {context.command_path}", "", "```", command.get_help(context), "```", ""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            lines += _help(inner, click.Context(inner, parent=context, info_name=name, terminal_width=WIDTH))
    return lines


PAGES = {
    "src/redrive/cli/surface.py": client_module,  # First: the commands import it.
    "docs/reference/admin.md": admin_page,
    "docs/reference/admin.openapi.yaml": openapi_page,
    "docs/reference/commands.md": commands_page,
    "docs/reference/operations.md": operations_page,
}
"""What is written, by its path from the root of the repository."""


def write() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
