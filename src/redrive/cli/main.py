"""The `redrive` command: a table of nouns. A command's module is imported when the command is used, so help is fast.

Only data goes to stdout. Exit codes: 0 ok, 1 finding, 2 usage, 3 environment, 4 refused by a safety gate, 130
interrupted.
"""

from __future__ import annotations

import atexit
import difflib
import gc
import importlib
import sys
from typing import Any

try:
    import click
except ImportError:
    sys.exit("The redrive command needs the engine's packages. Install them with: pip install 'redrive[engine]'")

from redrive.core.errors import UserError
from redrive.core.garbage import not_collected
from redrive.core.made_code import compiled_once
from redrive.core.portable import refuse_windows

COMMANDS = {
    "alarms": ("redrive.cli.alarms", "Show alarms and the points that they evaluate, and test one against history."),
    "clock": ("redrive.cli.clock", "Show a server's clock, or move it."),
    "delete": ("redrive.cli.delete", "Delete a stack, and say what is left of it."),
    "demo": ("redrive.cli.demo", "Find the bug in a handler, mend it, and run a day of work in which much goes wrong."),
    "deploy": ("redrive.cli.deploy", "Deploy a SAM or CloudFormation template, or a CDK app, to a server."),
    "dlq": ("redrive.cli.dlq", "Read dead-letter queues, and say why their letters are there."),
    "env": ("redrive.cli.env", "Print the settings that point AWS tools at a server."),
    "events": ("redrive.cli.events", "Show events and the rules that they match, say why one does not, send them."),
    "examples": ("redrive.cli.examples", "List the examples, or write one into this directory."),
    "fault": ("redrive.cli.fault", "Have calls to a target fail or be slow, to see what happens then."),
    "logs": ("redrive.cli.logs", "Print what a function has logged, or run a query over log groups."),
    "mailbox": ("redrive.cli.mailbox", "Show the e-mail and text messages that topics would have sent."),
    "metrics": ("redrive.cli.metrics", "List metrics, and draw them and dashboards as small charts."),
    "prove": ("redrive.cli.prove", "Search for a history in which a handler loses or repeats work."),
    "queues": ("redrive.cli.queues", "Show what is in the queues, and whose dead letters they take."),
    "reset": ("redrive.cli.reset", "Have a server forget everything."),
    "runs": ("redrive.cli.runs", "Show how deliveries went, and all that happened to one execution."),
    "schedules": ("redrive.cli.schedules", "Show when schedules fire and how it went, or fire one now."),
    "serve": ("redrive.cli.serve", "Serve AWS's APIs from this machine."),
    "sim": ("redrive.cli.sim", "Run the engine under bad weather, from a seed."),
    "states": ("redrive.cli.states", "Show what executions of state machines did, and check definitions."),
    "status": ("redrive.cli.status", "Show a server: its clock and store, what is due, and what failed lately."),
    "store": ("redrive.cli.store", "Check a store, make a backup of it, or copy it elsewhere."),
    "version": ("redrive.cli.version", "Print the version."),
}

INTERRUPTED = 130

SYNONYMS = {
    "destroy": ["delete"],
    "dead-letters": ["dlq"],
    "info": ["status"],
    "init": ["examples"],
    "ls": ["status", "queues"],
    "ps": ["status", "runs"],
    "rm": ["delete"],
    "start": ["serve"],
    "tail": ["logs"],
    "up": ["serve", "deploy"],
}
"""The names that other tools use for these commands."""


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = COMMANDS[cmd_name][0]
        if module not in sys.modules:
            with not_collected(), compiled_once(cmd_name):
                importlib.import_module(module)
        command: click.Command = sys.modules[module].command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a misspelt command: click makes none for lazily imported commands."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, [*COMMANDS, *SYNONYMS], n=1)
            meant = dict.fromkeys(known for word in near for known in SYNONYMS.get(word, [word]))
            guess = f" Did you mean {' or '.join(meant)}?" if meant else ""
            ctx.fail(f"There is no command {name}.{guess}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        atexit.register(gc.freeze)  # Else Python looks for garbage once more when it ends, which takes up to 0.3 s.
        try:
            refuse_windows()
            return super().invoke(ctx)
        except UserError as error:
            click.echo(f"redrive: {error.what}", err=True)
            if error.next_step:
                click.echo(f"  {error.next_step}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """redrive makes it safe to run work again.

    Start with `redrive demo`, or with `redrive serve` and your own template.
    """
