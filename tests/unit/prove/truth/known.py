"""The handlers of known truth: each file of `handlers` says in its docstring what is true of it.

One sentence that says why.

trigger: sqs                          what feeds it
event: {"id": "order-1"}              the event, or the message; by default an order
messages: [{"id": "order-1"}]         the messages, where there are several
rule: repeated                        the rule that it breaks, or `safe`
cause: key of the delivery            what the advice is about
drawn: item in audits                 effects that are there by chance
concurrent: 2                         another message at once, made of the first one
faults: 1                             fewer faults than the test's, where two take too long
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from redrive.prove.calls.given import NOTHING_GIVEN, given_of
from redrive.prove.process.subject import NamedSubject, subject_of
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind, bodies_of

HANDLERS = Path(__file__).parent / "handlers"
ORDER = {"id": "order-1", "amount": 5}
FAULTS = 2
_ASIS = frozenset({"s3", "dynamodb"})
"""Triggers whose sample is right for the handlers here."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is true of a handler."""

    name: str
    sentence: str
    facts: dict[str, str]

    @property
    def rule(self) -> str:
        """The value of the rule that it breaks; `safe` if it breaks none."""
        return self.facts["rule"]

    @property
    def cause(self) -> str:
        """What the advice is about; empty for a safe one."""
        return self.facts.get("cause", "")

    @property
    def drawn(self) -> list[str]:
        """The kinds of effects that are there by chance."""
        return [self.facts["drawn"]] if "drawn" in self.facts else []

    @property
    def subject(self) -> NamedSubject:
        """The handler."""
        return subject_of(f"{self.name}:handler", HANDLERS)

    @property
    def options(self) -> Options:
        """How it is proved."""
        trigger = Kind(self.facts["trigger"])
        given = json.loads(self.facts["given"]) if "given" in self.facts else None
        return Options(
            faults=int(self.facts.get("faults", FAULTS)),
            trigger=None if "template" in self.facts else trigger,
            template=HANDLERS / self.facts["template"] if "template" in self.facts else None,
            bodies=self._bodies(trigger),
            concurrent=int(self.facts.get("concurrent", 1)),
            given=NOTHING_GIVEN if given is None else given_of(given),
        )

    def _bodies(self, trigger: Kind) -> tuple[str, ...] | None:
        if "messages" in self.facts:
            return tuple(map(json.dumps, json.loads(self.facts["messages"])))
        if "event" not in self.facts:
            return None if trigger.value in _ASIS else bodies_of(ORDER)
        return bodies_of(json.loads(self.facts["event"]))


def known_handlers() -> list[Known]:
    """All of them, by name."""
    return [_known(file) for file in sorted(HANDLERS.glob("*.py"))]


def _known(file: Path) -> Known:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    sentence, _, facts = text.partition("\n\n")
    pairs = (line.partition(": ") for line in facts.splitlines())
    return Known(file.stem, sentence, {name: value for name, _, value in pairs})
