"""All functions of a project, one proof after the other: one that cannot be proved does not stop the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from redrive.core.clock import SECOND_MS
from redrive.core.errors import UserError
from redrive.packaging.kept import NOTHING_KEPT, Kept
from redrive.prove.process.subject import NamedSubject, subject_of
from redrive.prove.project.finding import HandlerFile, find_handlers
from redrive.prove.project.packages import shortly
from redrive.prove.project.source import read_template
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.search.order import Progress
from redrive.prove.search.reasons import ChangesNothing
from redrive.prove.stage.stage import SCOPE
from redrive.prove.stage.template import FED_BY
from redrive.prove.tell.result import Conclusion, Result, conclusion_of
from redrive.prove.tell.verdict import Verdict

_NESTED_MAX = 3
"""How deep templates nest."""
Proves = Callable[[NamedSubject | None, Options, Progress, Callable[[], bool]], Verdict]
"""Proves a handler, or a system: with its options, who is told, and whether to go on."""


@dataclass(frozen=True, slots=True)
class Provable:
    """A function to prove: of a template, or a handler in a file. `fed_by` is what the template says of its trigger."""

    label: str
    template: Path | None = None
    function: str = ""
    fed_by: str = ""
    handler: str = ""
    runtime: str = ""
    refused: str = ""
    entrance: str = ""
    """Where the event comes into a system, which is proved as a whole."""

    @property
    def command(self) -> str:
        """What proves this function alone, with its whole report."""
        if self.template is None:
            return f"redrive prove {self.handler}"
        if self.entrance:
            return f"redrive prove --system {shortly(self.template)} --entrance {self.entrance}"
        return f"redrive prove --template {shortly(self.template)} --function {self.function}"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome for one function; `add` is what to do next."""

    target: Provable
    outcome: Conclusion
    sentence: str
    add: str
    seconds: float
    verdict: Verdict | None = None

    @property
    def trigger(self) -> str:
        """What feeds the function."""
        if self.verdict is None:
            return self.target.fed_by
        return self.verdict.trigger.value

    def result(self, pass_at: int | None = None) -> Result:
        """The row for reports; `pass_at` as in Result."""
        target = self.target
        return Result(
            target.label, self.outcome, self.sentence, self.add, self.seconds, target.command, target.template,
            self.verdict, pass_at,
        )  # fmt: skip

    def document(self) -> dict[str, object]:
        """The row for scripts."""
        return {
            "function": self.target.label,
            **({"entrance": self.target.entrance} if self.target.entrance else {}),
            "template": None if self.target.template is None else shortly(self.target.template),
            "fed_by": self.target.fed_by,
            "trigger": self.trigger,
            "outcome": self.outcome.value,
            "verdict": self.sentence,
            "add": self.add,
            "seconds": round(self.seconds, 1),
            "proof": None if self.verdict is None else json.loads(self.verdict.as_json()),
        }


def targets_of(
    templates: Sequence[Path], parameters: Callable[[Path], Mapping[str, str]], kept: Kept = NOTHING_KEPT
) -> list[Provable]:  # fmt: skip
    """The functions of templates and of those nested in them. Errors: UserError, if the only template is unreadable."""
    found: list[Provable] = []
    for template in templates:
        prefix = f"{shortly(template)}: " if len(templates) > 1 else ""
        try:
            found += _targets_of(template, prefix, parameters(template), 0, kept)
        except UserError as error:
            if len(templates) == 1:
                raise
            found.append(Provable(prefix.rstrip(": "), template, refused=str(error)))
    return found


def _targets_of(
    template: Path, prefix: str, parameters: Mapping[str, str], depth: int, kept: Kept
) -> list[Provable]:  # fmt: skip
    read = read_template(template, parameters, SCOPE, kept)
    found = [
        Provable(f"{prefix}{one.logical_id}", template, one.logical_id, one.feed.told, runtime=one.runtime)
        for one in read.functions
    ]
    found += [Provable(f"{prefix}{name}", template, name, refused=why) for name, why in read.refused.items()]
    for name, nested in read.nested.items() if depth < _NESTED_MAX else ():
        try:
            found += _targets_of(nested, f"{prefix}{name}/", {}, depth + 1, kept)
        except UserError as error:
            found.append(Provable(f"{prefix}{name}", nested, refused=str(error)))
    return found


def chosen_target(targets: Sequence[Provable], logical_id: str) -> Provable:
    """The target with a logical id; of several templates also by the whole label. Errors: UserError."""
    found = [one for one in targets if logical_id in (one.label, one.function)]
    found = found or [one for one in targets if one.function.lower() == logical_id.lower()]
    if len(found) != 1:
        names = ", ".join(one.label for one in targets) or "no functions at all"
        raise UserError(
            f"There is no function {logical_id}." if not found else f"Several functions are called {logical_id}.",
            next_step=f"The project has {names}.", exit_code=2,
        )  # fmt: skip
    return found[0]


def handler_targets(directory: Path) -> list[Provable]:
    """The handlers in the files of a project without a template."""
    return [_handler_target(one, directory) for one in find_handlers(directory)]


def _handler_target(found: HandlerFile, directory: Path) -> Provable:
    place = f"{found.file.relative_to(directory).as_posix()}:{found.function}"
    return Provable(place, handler=place)


def prove_all(
    targets: Sequence[Provable], options_of: Callable[[Provable], Options], *, now_ms: Callable[[], float],
    progress: Callable[[Provable], Progress], may_go_on: Callable[[], Callable[[], bool]],
    told: Callable[[Row], None] = lambda _: None, is_stopped: Callable[[], bool] = lambda: False,
    proves: Proves = lambda subject, options, progress, may_go_on: prove(
        subject, options, progress=progress, may_go_on=may_go_on
    ),
) -> list[Row]:  # fmt: skip
    """Prove each of them, and tell of each when it is done. `may_go_on` begins the budget of one proof.

    Once the command `is_stopped`, no further proof is begun.
    """
    rows = []
    for target in targets:
        begun_at = now_ms()
        if is_stopped():
            row = Row(target, Conclusion.UNFINISHED, "not begun: the command was interrupted", "", 0)
        else:
            row = _proved(target, options_of, progress(target), may_go_on(), proves)
        row = replace(row, seconds=(now_ms() - begun_at) / SECOND_MS)
        told(row)
        rows.append(row)
    return rows


def _proved(
    target: Provable, options_of: Callable[[Provable], Options], progress: Progress, may_go_on: Callable[[], bool],
    proves: Proves,
) -> Row:  # fmt: skip
    if target.refused:
        return Row(target, Conclusion.NOT_PROVED, target.refused, "", 0)
    if target.runtime and not target.runtime.startswith("python"):
        what = f"runs {target.runtime}: only handlers in Python are proved"
        return Row(target, Conclusion.NOT_PYTHON, what, "", 0)
    try:
        subject = subject_of(target.handler, Path.cwd(), imports=None) if target.handler else None
        verdict = proves(subject, options_of(target), progress, may_go_on)
    except ChangesNothing as error:
        return Row(target, Conclusion.NOTHING, error.what, error.next_step, 0)
    except UserError as error:
        return Row(target, Conclusion.NOT_PROVED, error.what, error.next_step, 0)
    except Exception as error:  # noqa: BLE001 - One function's defect, or ours with it, must not stop the others.
        what = f"redrive itself failed: {type(error).__name__}: {error}"
        return Row(target, Conclusion.NOT_PROVED, what, f"See it whole: {target.command}", 0)
    target = replace(target, fed_by=verdict.assumptions.get(FED_BY, target.fed_by))
    add = "" if verdict.counterexample is None else f"See the history: {target.command}"
    return Row(target, conclusion_of(verdict), verdict.sentence, add, 0, verdict)
