"""What `redrive prove` proves where no handler is named: the functions of the project's templates, or its handlers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from redrive.core.errors import UserError
from redrive.core.garbage import not_collected

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redrive.prove.search.options import Options
    from redrive.prove.whole import Provable

FUNCTIONS_TOLD_MAX = 5
"""So many functions of a project are named before they are proved."""
HANDLERS_MAX = 5
"""So many handlers without a template are proved one after the other; more are listed."""


def templates_of(template: Path | None, *, is_looked_for: bool) -> list[Path]:
    """The template that the user has named, or those of the project, if they are looked for. Errors: UserError."""
    if template is not None or not is_looked_for:
        return [] if template is None else [template]
    with not_collected():
        from redrive.prove.project.finding import find_templates
    return find_templates(Path.cwd())


def shown(file: Path) -> str:
    """A file as its user would name it here."""
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def targets_of(
    templates: Sequence[Path], options: Options, options_of: Callable[[Path | None, str], Options], *, is_all: bool
) -> list[Provable]:  # fmt: skip
    """What is to be proved if no handler is named: the functions of the project, or its handlers. Errors: UserError."""
    from redrive.prove import whole
    from redrive.prove.project.finding import hint_for

    here = Path.cwd()
    targets = whole.targets_of(templates, lambda file: options_of(file, "").parameters, options.kept)
    if options.function:
        return [whole.chosen_target(targets, options.function)]
    if targets:
        if options.template is None:
            names, count = ", ".join(map(shown, templates)), len(targets)
            labels = ", ".join(one.label for one in targets[:FUNCTIONS_TOLD_MAX])
            more = f" and {count - FUNCTIONS_TOLD_MAX} more" if count > FUNCTIONS_TOLD_MAX else ""
            click.echo(f"Found {names} with {count} function{'s' if count > 1 else ''}: {labels}{more}.", err=True)
        return targets
    hint = hint_for(here) if options.template is None else f"The template {options.template} has no function."
    handlers = whole.handler_targets(here)
    if not handlers:
        raise UserError(
            f"There is nothing to prove. {hint}".strip(),
            next_step="Name a handler as module:function, or path/to/file.py:function.", exit_code=2,
        )  # fmt: skip
    if len(handlers) > HANDLERS_MAX and not is_all:
        commands = "".join(f"\n    {one.command}" for one in handlers)
        raise UserError(
            f"{hint} No template was found, and {len(handlers)} handlers were.".strip(),
            next_step=f"Prove one of them, or all with --all:{commands}", exit_code=2,
        )  # fmt: skip
    if hint:
        click.echo(f"{hint} Meanwhile its handlers are proved as they are.", err=True)
    return handlers


def entrances_of(system: Path, options: Options) -> list[Provable]:
    """What is to be proved of a system: each place where an event comes in. Errors: UserError."""
    from redrive.prove.system import proving
    from redrive.prove.whole import Provable

    found = proving.entrances_of(options)
    click.echo(f"Found {system} with {len(found)} entrance{'s' if len(found) != 1 else ''}.", err=True)
    return [Provable(one.told, system, entrance=one.name, fed_by=one.way.value) for one in found]
