"""The result of one proof that was asked for by itself, in the form in which those of a whole project are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redrive.core.clock import SECOND_MS
from redrive.prove.search.reasons import ChangesNothing
from redrive.prove.tell.result import Conclusion, Result, conclusion_of

if TYPE_CHECKING:
    from redrive.core.errors import UserError
    from redrive.prove.process.subject import NamedSubject
    from redrive.prove.search.options import Options
    from redrive.prove.tell.verdict import Verdict


def result_of(verdict: Verdict, options: Options, elapsed_ms: float, pass_at: int | None) -> Result:
    """The result of a proof that came to a verdict."""
    return Result(
        options.function or verdict.handler, conclusion_of(verdict), verdict.sentence, "", elapsed_ms / SECOND_MS,
        _command(verdict.handler, options), options.template, verdict, pass_at,
    )  # fmt: skip


def refused(error: UserError, subject: NamedSubject | None, options: Options, elapsed_ms: float) -> Result:
    """The result of a handler that cannot be proved."""
    template = "" if options.template is None else options.template.name
    name = options.function or (template if subject is None else subject.name)
    conclusion = Conclusion.NOTHING if isinstance(error, ChangesNothing) else Conclusion.NOT_PROVED
    seconds = elapsed_ms / SECOND_MS
    return Result(name, conclusion, error.what, error.next_step, seconds, _command(name, options), options.template)


def _command(name: str, options: Options) -> str:
    """What proves it again, with its whole report."""
    if options.is_system:
        return f"redrive prove --system {options.template}"
    if options.function and options.template is not None:
        return f"redrive prove --template {options.template} --function {options.function}"
    template = "" if options.template is None else f" --template {options.template}"
    return f"redrive prove {name}{template}"
