"""What a search is to try, and what somebody has accepted: the options, and the file of accepted findings."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redrive.cli.prove_outputs import write_file
from redrive.core.clock import SECOND_MS, machine_ms
from redrive.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from redrive.prove.search.options import Options
    from redrive.prove.tell.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Choices:
    """The faults by their names, the baseline, and the reason to add a finding to it."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    baseline: Path | None = None
    reason: str | None = None
    warm: bool = True
    concurrent: int = 1

    def applied_to(self, options: Options) -> Options:
        """The options of a proof with these choices. Errors: UserError."""
        from redrive.prove.search.baseline import read_baseline
        from redrive.prove.search.choice import choice_of

        if options.is_system and self.concurrent > 1:
            raise UserError(
                "--concurrent 2 is about one function.", next_step="Leave it out, or prove the function alone.",
                exit_code=2,
            )  # fmt: skip
        options = replace(
            options, choice=choice_of(self.only, self.without), warm=self.warm, concurrent=self.concurrent
        )  # fmt: skip
        if self.baseline is None or (self.reason is not None and not self.baseline.exists()):
            return options
        entries = read_baseline(self.baseline)
        today = datetime.fromtimestamp(machine_ms() / SECOND_MS, UTC).date()
        for one in entries:
            if not one.holds_on(today):
                click.echo(f"{self.baseline}: no longer accepted of {one.handler}: {one}", err=True)
        return replace(options, accepted=tuple(one for one in entries if one.holds_on(today)))

    def accept(self, verdict: Verdict, options: Options) -> bool:
        """Write what was found into the baseline, if this is asked for. Answers whether it was. Errors: UserError."""
        from redrive.prove.search.baseline import Accepted, lasting, with_entry

        found = verdict.counterexample
        if self.baseline is None or self.reason is None or found is None:
            return False
        name = options.label or options.function or verdict.handler
        entry = Accepted(name, found.violation.rule, lasting(found.violation.subject), self.reason)
        text = self.baseline.read_text("utf-8") if self.baseline.exists() else ""
        write_file(self.baseline, with_entry(text, entry, is_json=self.baseline.suffix == ".json"))
        click.echo(f"Accepted in {self.baseline}: {entry}. Prove again: there may be another one behind it.", err=True)
        return True


def choice_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options of the choice; the function gets them as `choices`."""

    @click.option("--only", multiple=True, metavar="FAULT", help="Try only faults of this name or group; repeatable.")
    @click.option("--without", multiple=True, metavar="FAULT", help="Leave out faults of this name; repeatable.")
    @click.option("--baseline", type=click.Path(path_type=Path), help="A file of findings that are accepted.")
    @click.option("--accept", metavar="REASON", help="Add what is found to the baseline, with the reason.")
    @click.option("--warm/--no-warm", default=True, show_default=True, help="Use environments of earlier runs again.")
    @click.option("--concurrent", type=click.IntRange(1, 2), default=1, help="2: another message comes meanwhile.")
    @functools.wraps(function)
    def with_choices(
        *,
        only: tuple[str, ...],
        without: tuple[str, ...],
        baseline: Path | None,
        accept: str | None,
        warm: bool,
        concurrent: int,
        **others: Any,
    ) -> None:
        if accept is not None and (baseline is None or not accept.strip()):
            raise UserError(
                "--accept writes a reason into a baseline.", exit_code=2,
                next_step="Give both: --baseline accepted.yaml --accept 'the mails may come twice'.",
            )  # fmt: skip
        function(choices=Choices(only, without, baseline, accept, warm, concurrent), **others)

    return with_choices
