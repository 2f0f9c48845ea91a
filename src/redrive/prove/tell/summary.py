"""Results as Markdown, as GitHub shows it on the page of a workflow's run: a table, and each story to be unfolded."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from redrive.prove.tell.result import Conclusion, Result, story_of
from redrive.prove.tell.verdict import Counterexample

BYTES_MAX = 900_000
"""GitHub shows 1 MiB for each step. Source: https://docs.github.com/en/actions/reference/workflow-commands"""
_MARKS = {
    Conclusion.FOUND: "❌", Conclusion.NONE: "✅", Conclusion.UNFINISHED: "⏳", Conclusion.NOTHING: "➖",
    Conclusion.NOT_PROVED: "❓", Conclusion.NOT_PYTHON: "➖",
}  # fmt: skip
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def as_summary(results: Sequence[Result]) -> str:
    """The Markdown; stories that would make it too long are left out, which is said."""
    told = "\n".join([_title(results), "", *_table(results), ""])
    left_out = 0
    for result in results:
        details = _details(result)
        if len(told.encode()) + len(details.encode()) > BYTES_MAX:
            left_out += 1
        else:
            told += details
    return told + (f"\n{left_out} more do not fit here.\n" if left_out else "")


def _title(results: Sequence[Result]) -> str:
    found = sum(one.conclusion is Conclusion.FOUND for one in results)
    fine = sum(one.is_fine for one in results)
    count = f"{len(results)} {_noun(results)}{'' if len(results) == 1 else 's'}"
    return f"### redrive prove: {found} of {count} with a counterexample, {fine} without"


def _table(results: Sequence[Result]) -> list[str]:
    rows = [
        f"| {_MARKS[one.conclusion]} | {_cell(one.name)} | {_cell(_trigger(one))} | {_cell(one.sentence)} |"
        f" {one.seconds:.1f} s |"
        for one in results
    ]
    return [f"| | {_noun(results).capitalize()} | Trigger | Verdict | Time |", "|---|---|---|---|---:|", *rows]


def _noun(results: Sequence[Result]) -> str:
    """What was proved."""
    return "system" if any(one.verdict is not None and one.verdict.system for one in results) else "function"


def _trigger(result: Result) -> str:
    return "" if result.verdict is None else result.verdict.trigger.value


def _details(result: Result) -> str:
    """What was found, or what to add; empty if there is nothing to do."""
    found = result.found
    if found is not None:
        summary = f"{result.name}: {found.violation.sentence}"
        return f"\n<details><summary>{html.escape(summary)}</summary>\n\n{_story(result, found)}\n</details>\n"
    if not result.is_fine and result.add:
        return f"\n**{_escaped(result.name)}**: {_escaped(result.add)}\n"
    return ""


def _story(result: Result, found: Counterexample) -> str:
    parts = [_fenced(story_of(found), "text"), _escaped(found.advice)]
    if found.change is not None:
        parts += [_fenced(found.change.diff, "diff"), _escaped(f"{found.tried} {found.change.note}".strip())]
    parts.append(_fenced(result.command, "sh"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _fenced(text: str, language: str) -> str:
    """A block of code, with a fence that the text does not have."""
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _cell(text: str) -> str:
    """A text as the cell of a table: in one line."""
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
