"""The change for each cause for which one can be derived: of a handler's source, from the place of the call, or of the
template, from what it declares of the function.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.prove.project.packages import shortly
from redrive.prove.tell.advice.case import Case, TemplateText
from redrive.prove.tell.advice.changes.declared import changed_template, with_visibility
from redrive.prove.tell.advice.changes.keys import keyed
from redrive.prove.tell.advice.changes.source import Edit, Source, Spot, keyword, number_of
from redrive.prove.tell.advice.changes.writes import GROWS, older_refused, read_modify_write_tied, recorded_in_the_item
from redrive.prove.tell.advice.finding import Cause, Finding

_UNENDED = "\\ No newline at end of file"
_OUTLIVES = "30 * 24 * 3600"
_PARTS = {
    "send_message_batch": "Failed", "publish_batch": "Failed", "put_events": "FailedEntryCount",
    "put_records": "FailedRecordCount", "put_record_batch": "FailedPutCount",
}  # fmt: skip
"""The methods whose answers tell of refused entries, and under which name."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file of the user's before and after a change; `name` is how the diff names it."""

    file: Path
    name: str
    before: str
    after: str
    note: str = ""
    """What else is to be known of it."""

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            _lines(self.before), _lines(self.after), f"a/{self.name}", f"b/{self.name}", lineterm="", n=2
        )
        return "\n".join(lines)


def _lines(text: str) -> list[str]:
    """The lines of a text. Behind a last one that does not end stands what `patch` has to be told."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]}\n{_UNENDED}"]


def change_for(finding: Finding | None, case: Case, message: Mapping[str, object]) -> Change | None:
    """The change for a cause; None where it cannot be derived."""
    if finding is None:
        return None
    found = _of_source(finding, case, message)
    return _of_template(finding, case) if found is None else _in_template(found, case)


def _of_source(finding: Finding, case: Case, message: Mapping[str, object]) -> Change | None:
    """A change of the handler's source. What comes of it is valid Python."""
    place = None if finding.at is None else finding.at.place
    make = _MAKERS.get(finding.cause)
    text = "" if place is None else case.source(place)
    if finding.at is None or place is None or make is None or not text:
        return None
    try:
        spot = Spot(Source(text), place.line, finding.at.call.params, finding.details, case.kind, message)
        after = make(spot)
        ast.parse(after)
    except SyntaxError:
        return None
    note = GROWS if finding.cause in _GROWING else ""
    return Change(place.path, _named(place.path, place.file), text, after, note) if after and after != text else None


def _of_template(finding: Finding, case: Case) -> Change | None:
    """A change of the template that declares the function."""
    template = case.template
    if template is None:
        return None
    after = changed_template(finding, case.function, case.kind, case.through, template.text)
    return Change(template.file, _named(template.file, template.file.name), template.text, after) if after else None


def longer_visibility(template: TemplateText, queue: str, seconds: int) -> Change | None:
    """The change of a queue's visibility timeout; None if it cannot be derived."""
    after = with_visibility(template.text, queue, seconds)
    return Change(template.file, _named(template.file, template.file.name), template.text, after) if after else None


def _in_template(change: Change, case: Case) -> Change:
    """The change in the template, if that is where the code stands: as a block of lines, indented alike."""
    template = case.template
    if template is None or template.file.parent.resolve() in change.file.resolve().parents:
        return change
    lines, first = template.text.splitlines(), change.before.lstrip("\n").partition("\n")[0]
    for line in lines if first.strip() else ():
        indent = line[: len(line) - len(line.lstrip())]
        before, after = _indented(change.before, indent), _indented(change.after, indent)
        if line == indent + first and before in template.text:
            changed = template.text.replace(before, after, 1)
            return Change(
                template.file, _named(template.file, template.file.name), template.text, changed, change.note
            )  # fmt: skip
    return change


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line.strip() else line for line in text.strip("\n").splitlines())


def _named(file: Path, name: str) -> str:
    """A file as a diff names it: from the working directory, so that `patch` finds it there, or by its name."""
    told = shortly(file)
    return name if Path(told).is_absolute() else Path(told).as_posix()


def _unprocessed(spot: Spot) -> str:
    source = spot.source
    call = source.call_at(spot.line, "batch_write_item", *_PARTS)
    statement = None if call is None else source.statement(call)
    if call is None or statement is None or not isinstance(call.func, ast.Attribute):
        return ""
    if not isinstance(statement, ast.Expr | ast.Assign) or statement.value is not call:
        return ""
    indent = source.indent(statement)
    name = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if name is not None and not isinstance(name, ast.Name):
        return ""
    items = keyword(call, "RequestItems")
    if call.func.attr == "batch_write_item":
        if items is None or name is not None:
            return ""
        again = source.told(call).replace(source.told(items.value), "left", 1)
        lines = [
            f"left = {source.told(items.value)}",
            f"{indent}while left:",
            f'{indent}    left = {again}["UnprocessedItems"]',
        ]
        return source.edited([source.replaced(statement, "\n".join(lines))])
    member = _PARTS[call.func.attr]
    answer = name.id if name is not None else "answer"
    told = source.told(statement) if name is not None else f"{answer} = {source.told(call)}"
    lines = [told, f'{indent}if {answer}.get("{member}"):', f'{indent}    raise RuntimeError(f"refused: {{{answer}}}")']
    return source.edited([source.replaced(statement, "\n".join(lines))])


def _misspelt(spot: Spot) -> str:
    source = spot.source
    wrong, right = spot.details["name"], spot.details["right"]
    edits = [
        source.replaced(node, source.told(node).replace(wrong, right))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and node.value == wrong
    ]
    return source.edited(edits)


def _dropped(spot: Spot) -> str:
    """Raise at the end of the part that catches the error, in place of what lets the run go on."""
    source = spot.source
    call = source.call_at(spot.line)
    for one in () if call is None else source.above(call):
        if isinstance(one, ast.Try) and one.body[0].lineno <= spot.line <= (one.body[-1].end_lineno or spot.line):
            quiet = [
                handler for handler in one.handlers
                if not any(isinstance(node, ast.Raise) for node in ast.walk(handler))
            ]  # fmt: skip
            if not quiet:
                continue
            return source.edited([_raised(source, handler) for handler in quiet])
    return ""


def _raised(source: Source, handler: ast.ExceptHandler) -> Edit:
    last = handler.body[-1]
    if isinstance(last, ast.Pass | ast.Continue | ast.Break | ast.Return):
        return source.replaced(last, "raise")
    end = source.end(last)
    return Edit(end, end, f"\n{source.indent(last)}raise")


def _deleted_first(spot: Spot) -> str:
    source = spot.source
    call = source.call_at(spot.line, "delete_message", "delete_message_batch", "delete")
    statement = None if call is None else source.statement(call)
    return source.edited([source.without(statement)]) if isinstance(statement, ast.Expr) else ""


def _outlived(spot: Spot) -> str:
    """A longer life for the record: the one number, or duration, in the module that is how long it lasted."""
    source = spot.source
    seconds = int(spot.details["seconds"])
    found = [node for node in ast.walk(source.tree) if isinstance(node, ast.expr) and _lasts(node) == seconds]
    outer = [node for node in found if not any(parent in found for parent in source.above(node))]
    if len(outer) != 1:
        return ""
    (node,) = outer
    text = f"{source.told(node.func)}(days=30)" if isinstance(node, ast.Call) else _OUTLIVES
    return source.edited([source.replaced(node, text)])


def _lasts(node: ast.expr) -> int | None:
    """How many seconds a number or a `timedelta` is."""
    if not isinstance(node, ast.Call):
        return number_of(node)
    units = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1, "weeks": 7 * 86_400}
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    numbers = [(units.get(str(one.arg)), number_of(one.value)) for one in node.keywords]
    if name != "timedelta" or not numbers or any(unit is None or number is None for unit, number in numbers):
        return None
    return sum((unit or 0) * (number or 0) for unit, number in numbers)


Maker = Callable[[Spot], str]
"""The changed source, or an empty text."""

_GROWING = frozenset({Cause.UNRECORDED, Cause.READ_MODIFY_WRITE})

_MAKERS: Mapping[Cause, Maker] = {
    Cause.UNPROCESSED: _unprocessed,
    Cause.MISSPELT_RESPONSE: _misspelt,
    Cause.DROPPED: _dropped,
    Cause.DELETED_FIRST: _deleted_first,
    Cause.RECORD_EXPIRES: _outlived,
    Cause.RANDOM_KEY: keyed,
    Cause.DELIVERY_KEY: keyed,
    Cause.UNRECORDED: recorded_in_the_item,
    Cause.OLDER_OVER_NEWER: older_refused,
    Cause.READ_MODIFY_WRITE: read_modify_write_tied,
}
