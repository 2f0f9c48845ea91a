"""Findings that somebody has accepted, with the reason, in a file that is kept beside the code.

The file is a list, in YAML or JSON:

    - handler: app:handler        a handler, or a function's logical id, as reports name them
      rule: repeated
      subject: message to mails   what the rule is broken about
      reason: whoever reads the mails is told to expect two
      until: 2027-03-31           optional: the last day on which it holds

An accepted finding breaks no rule: the search goes on behind it, in the same history and in others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import yaml

from redrive.core.errors import UserError
from redrive.prove.judge.judge import Rule
from redrive.prove.stage.deployed import STACK

_RULES = {rule.value: rule for rule in Rule}
_PHYSICAL_NAME = re.compile(rf"\b{STACK}-(\w+)-[A-Z0-9]{{12,13}}\b")
"""The name of a resource that the template has not named. Its end changes with the template."""
_NEEDED = ("handler", "rule", "subject", "reason")


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted finding."""

    handler: str
    rule: Rule
    subject: str
    reason: str
    until: date | None = None

    def __str__(self) -> str:
        end = "" if self.until is None else f", until {self.until.isoformat()}"
        return f"{self.rule.value}: {self.subject} ({self.reason}{end})"

    def holds_on(self, day: date) -> bool:
        """Whether it is still accepted on a day."""
        return self.until is None or day <= self.until

    def document(self) -> dict[str, str]:
        """The entry of the file."""
        needed = {"handler": self.handler, "rule": self.rule.value, "subject": self.subject, "reason": self.reason}
        return needed if self.until is None else {**needed, "until": self.until.isoformat()}


@dataclass(slots=True)
class Acceptance:
    """What is accepted of one handler, and what of this a search has met."""

    entries: Sequence[Accepted] = ()
    met: set[Accepted] = field(default_factory=set)

    def accepts(self, rule: Rule, subject: str) -> bool:
        """Whether this finding is accepted; remembers that it was met."""
        found = [one for one in self.entries if one.rule is rule and lasting(one.subject) == lasting(subject)]
        self.met.update(found)
        return bool(found)

    @property
    def occurring(self) -> tuple[Accepted, ...]:
        """The entries that were met, in the file's order."""
        return tuple(one for one in self.entries if one in self.met)

    @property
    def unmet(self) -> tuple[Accepted, ...]:
        """The entries that were not met."""
        return tuple(one for one in self.entries if one not in self.met)


def lasting(subject: str) -> str:
    """The subject of a violation, with resources by their logical ids where the template gives them no names."""
    return _PHYSICAL_NAME.sub(r"\1", subject)


def acceptance_for(entries: Iterable[Accepted], names: Collection[str]) -> Acceptance:
    """What is accepted of the handler with these names."""
    return Acceptance(tuple(one for one in entries if one.handler in names))


def read_baseline(file: Path) -> tuple[Accepted, ...]:
    """The entries of a file. Errors: UserError, with the entry that is wrong."""
    try:
        document = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(
            f"The baseline {file} cannot be read: {error}.",
            next_step="It is made by --baseline FILE --accept REASON.", exit_code=2,
        ) from error  # fmt: skip
    if document is None:
        return ()
    if not isinstance(document, list):
        raise UserError(f"The baseline {file} is no list.", next_step=f"Each entry has {_told()}.", exit_code=2)
    return tuple(_entry(one, f"Entry {number} of {file}") for number, one in enumerate(document, 1))


def _entry(document: object, where: str) -> Accepted:
    if not isinstance(document, Mapping) or set(document) - {*_NEEDED, "until"}:
        raise UserError(f"{where} is no accepted finding.", next_step=f"Each entry has {_told()}.", exit_code=2)
    missing = [name for name in _NEEDED if not str(document.get(name) or "").strip() and name != "subject"]
    if missing or "subject" not in document:
        raise UserError(
            f"{where} has no {(*missing, 'subject')[0]}.", next_step=f"Each entry has {_told()}.", exit_code=2
        )
    if document["rule"] not in _RULES:
        raise UserError(
            f"{where}: {document['rule']!r} is no rule.", next_step=f"Rules are {', '.join(_RULES)}.", exit_code=2
        )
    return Accepted(
        str(document["handler"]), _RULES[document["rule"]], str(document["subject"] or ""), str(document["reason"]),
        _day(document.get("until"), where),
    )  # fmt: skip


def _day(value: object, where: str) -> date | None:
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise UserError(
            f"{where}: {value!r} is no day.", next_step="Write it as 2027-03-31.", exit_code=2
        ) from None  # fmt: skip


def _told() -> str:
    return f"{', '.join(_NEEDED)}, and perhaps until"


def with_entry(text: str, entry: Accepted, *, is_json: bool) -> str:
    """The text of a file with one entry more. Comments of a file in YAML stay."""
    entries = yaml.safe_load(text) or []
    if is_json or text.lstrip().startswith("["):
        return json.dumps([*entries, entry.document()], indent=2, ensure_ascii=False, default=str) + "\n"
    before = f"{text.rstrip()}\n" if text.strip() else ""
    return before + yaml.safe_dump([entry.document()], sort_keys=False, allow_unicode=True, width=1_000)
