"""Results as SARIF 2.1.0, for code scanning: a rule for each rule of a history, and a code flow for each story.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html,
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from redrive.prove.judge.judge import Rule, Violation
from redrive.prove.process.subject import Place
from redrive.prove.search.baseline import Accepted, lasting
from redrive.prove.tell.result import Conclusion, Result, file_of
from redrive.prove.tell.story import Step
from redrive.prove.tell.verdict import Counterexample

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "redriveFinding/v1"
_RULES: Mapping[Rule, tuple[str, str, str]] = {
    Rule.ONCE: (
        "WorkRepeated", "Work is done more than once",
        "In some history an effect happens more often than in a run in which nothing goes wrong.",
    ),
    Rule.ALL: (
        "WorkLost", "Work is lost",
        "In some history no message is left, neither in the queue nor dead, and an effect has not happened.",
    ),
    Rule.SAME: (
        "WorkChanged", "Work leaves something else",
        "In some history what is left behind differs from what a run leaves in which nothing goes wrong.",
    ),
    Rule.UNSTUCK: (
        "WorkStuck", "Work is stuck",
        "In some history a record says for ever that a run is under way, or a message never ends.",
    ),
    Rule.STABLE: (
        "AnswerUnstable", "The answer differs from delivery to delivery",
        "In some history a repeated delivery returns something else than the first one.",
    ),
    Rule.USERS: (
        "InvariantBroken", "An invariant does not hold",
        "In some history an invariant of the project does not hold at the end.",
    ),
}  # fmt: skip
_NUMBERS = {rule: number for number, rule in enumerate(_RULES)}


def as_sarif(results: Sequence[Result], base: Path, version: str) -> str:
    """The log, in JSON; files are named from `base`, and `version` is that of this program."""
    driver = {
        "name": "redrive prove",
        "semanticVersion": version,
        "rules": [_rule(rule, *words) for rule, words in _RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(results)],
        "results": [
            *(_result(one, one.found, base) for one in results if one.found),
            *(_suppressed(one, entry, base) for one in results if one.verdict for entry in one.verdict.accepted),
        ],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule, name: str, short: str, full: str) -> dict[str, object]:
    return {
        "id": _id(rule),
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": f"{full} The code flow is the shortest such history, step by step; the message says why."},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["reliability", "idempotency"], "precision": "very-high", "problem.severity": "error"},
    }


def _id(rule: Rule) -> str:
    return f"redrive/{rule.value}"


def _invocation(results: Sequence[Result]) -> dict[str, object]:
    """What was not proved, and what was not finished: it has no place in the results, since nothing was found."""
    notes = [
        {
            "level": "error" if one.conclusion is Conclusion.NOT_PROVED else "warning",
            "message": {"text": f"{one.name}: {one.sentence} {one.add}".strip()},
        }
        for one in results
        if one.conclusion in {Conclusion.NOT_PROVED, Conclusion.UNFINISHED}
    ]
    is_whole = all(one.is_fine or one.conclusion is Conclusion.FOUND for one in results)
    return {"executionSuccessful": is_whole, **({"toolExecutionNotifications": notes} if notes else {})}


def _result(result: Result, found: Counterexample, base: Path) -> dict[str, object]:
    violation = found.violation
    told = f"{result.name}: {violation.sentence} {found.advice}".strip()
    return {
        "ruleId": _id(violation.rule),
        "ruleIndex": _NUMBERS[violation.rule],
        "level": "error",
        "message": {"text": told},
        "locations": [_location(found.culprit, result, base)],
        "codeFlows": [
            {
                "message": {"text": result.sentence},
                "threadFlows": [{"locations": [_step(*one, base) for one in enumerate(found.steps, 1)]}],
            }
        ],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(result.name, violation)},
        "properties": {
            "function": result.name,
            "cause": found.cause,
            "faults": sum(leg.faults for leg in found.history),
            "history": [str(leg) for leg in found.history],
        },
    }


def _suppressed(result: Result, entry: Accepted, base: Path) -> dict[str, object]:
    """A finding that occurs and is accepted: a reader shows it as closed, with the reason."""
    return {
        "ruleId": _id(entry.rule),
        "ruleIndex": _NUMBERS[entry.rule],
        "level": "error",
        "message": {"text": f"{result.name}: {entry.rule.value}: {entry.subject}"},
        "locations": [_location(None, result, base)],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(result.name, entry)},
        "suppressions": [{"kind": "external", "status": "accepted", "justification": entry.reason}],
        "properties": {"function": result.name},
    }


def _fingerprint(name: str, violation: Violation | Accepted) -> str:
    words = (name, violation.rule.value, lasting(violation.subject))
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]


def _location(place: Place | None, result: Result, base: Path) -> dict[str, object]:
    """The line of a finding. Without one it is in the template, or in the working directory: readers demand a file."""
    physical = None if place is None else _physical(place, base)
    if physical is not None:
        return {"physicalLocation": physical}
    template = result.template
    file = template.resolve() if template is not None else base.resolve()
    uri = file.relative_to(base.resolve()).as_posix() if file.is_relative_to(base.resolve()) else file.name
    return {"physicalLocation": {"artifactLocation": {"uri": quote(uri)}, "region": {"startLine": 1}}}


def _step(number: int, step: Step, base: Path) -> dict[str, object]:
    location: dict[str, object] = {"message": {"text": f"{step.at}  {step.text}"}}
    physical = None if step.place is None else _physical(step.place, base)
    if physical is not None:
        location["physicalLocation"] = physical
    importance = "essential" if step.is_fault else "important"
    return {"location": location, "executionOrder": number, "importance": importance}


def _physical(place: Place, base: Path) -> dict[str, object] | None:
    file = file_of(place, base)
    if not file:
        return None
    region: dict[str, object] = {"startLine": place.line}
    if place.source:
        region["snippet"] = {"text": place.source}
    return {"artifactLocation": {"uri": quote(file)}, "region": region}
