"""A history and the rule that it has broken, with what the recognition of a cause asks of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive.prove.calls.calls import HTTP_SERVICE, Call, mapping_of, parts_of
from redrive.prove.calls.sorting import LedgerRows
from redrive.prove.effects.journal import ITEM_IN, RECORD_IN, KeyNames, key_told
from redrive.prove.judge.judge import Violation
from redrive.prove.play.events import Called, Delivered, Ended, Event, Sent
from redrive.prove.play.faults import Act, Fault
from redrive.prove.process.subject import Place
from redrive.prove.stage.trigger import Kind

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
READS = frozenset({"GetItem", "Query", "Scan"})
REFUSALS = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
"""How a handler learns that a condition does not hold: this is no failure."""


@dataclass(frozen=True, slots=True)
class TemplateText:
    """A template's file, and its text."""

    file: Path
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """What advice is given about.

    `stable` takes ids and times out of a text; `key_names` are those of a table; `source` is the text of the file of a
    place in the user's code.
    """

    violation: Violation
    events: Sequence[Event]
    ledger: LedgerRows
    key_names: KeyNames
    stable: Callable[[str], str] = str
    source: Callable[[Place], str] = lambda _: ""
    template: TemplateText | None = None
    function: str = ""
    """The logical id of the function that advice is given about; of a system, `of_function` sets it."""
    unread: frozenset[str] = frozenset()
    """The functions whose mappings do not read which messages have failed, by their logical ids."""

    @property
    def kind(self) -> Kind:
        """What feeds the handler."""
        return next((event.kind for event in self.events if isinstance(event, Delivered)), Kind.SQS)

    @property
    def through(self) -> str:
        """The logical id of what feeds the function, as far as a system says it."""
        found = (event.through for event in self.events if isinstance(event, Delivered))
        return next(found, "").rpartition(" ")[2]

    @property
    def calls(self) -> list[Called]:
        """The calls, in their order."""
        return [event for event in self.events if isinstance(event, Called)]

    @property
    def ends(self) -> list[Ended]:
        """The ends of runs."""
        return [event for event in self.events if isinstance(event, Ended)]

    @property
    def faults(self) -> frozenset[Fault]:
        """The faults that strike at calls."""
        return frozenset(fault for call in self.calls for fault in call.faults)

    @property
    def acts(self) -> frozenset[Act]:
        """How messages came again."""
        return frozenset(event.act for event in self.events if isinstance(event, Sent))

    @property
    def delivery_ids(self) -> frozenset[str]:
        """The ids that a delivery has: of messages and requests."""
        return frozenset(one for event in self.events if isinstance(event, Delivered) for one in event.message_ids)

    @property
    def culprits(self) -> list[Called]:
        """The calls that took effect, and left what the violation is about."""
        return [one for one in self.calls if one.times and self.leaves(one.call)]

    @property
    def culprit(self) -> Place | None:
        """The line to look at: that of the last call that left too much, else of the last fault or of the last call."""
        struck = [one for one in self.calls if one.faults]
        for calls in (self.culprits, struck, self.calls):
            places = [one.place for one in calls if one.place is not None]
            if places:
                return places[-1]
        return None

    def leaves(self, call: Call) -> bool:
        """Whether a call leaves what the violation is about."""
        return any(self.is_about(part) for part in (call, *parts_of(call)))

    def is_about(self, part: Call) -> bool:
        """Whether one write leaves what the violation is about."""
        return self.violation.subject in self._kinds_of(part)

    def call_of_run(self, run: int) -> list[Called]:
        """The calls of one run."""
        return [one for one in self.calls if one.run == run]

    def keys(self, part: Call) -> str:
        """The key of the item of a write or of a read; empty if it has none."""
        values = mapping_of(part.params.get("Key")) or mapping_of(part.params.get("Item"))
        if part.service != "dynamodb" or not values or not part.target:
            return ""
        return f"{part.target}/{key_told(values, self.key_names(part.target))}"

    def rows(self, call: Call, operations: frozenset[str] = WRITES) -> Iterator[str]:
        """The rows that a call's parts are about, for these operations."""
        for part in parts_of(call):
            if part.service == "dynamodb" and part.operation in operations and (row := self.keys(part)):
                yield row

    def ledger_rows(self, call: Call) -> set[str]:
        """The rows of the ledger that a call reads or writes."""
        rows = self.rows(call, WRITES | READS)
        return {row for row in rows if row.partition("/")[0] in self.ledger.tables}

    def names(self, one: Called, member: str) -> bool:
        """Whether the user's code names a member of a call: boto3 makes up the tokens that nobody gives."""
        return one.place is None or member in self.source(one.place)

    def _kinds_of(self, part: Call) -> tuple[str, ...]:
        """The kinds of effects that one call or part can leave, as the journal names them."""
        target = part.target
        match part.service:
            case "dynamodb":
                return (
                    f"{ITEM_IN}{target}",
                    f"{RECORD_IN}{target}",
                    f"increase of {target}",
                    f"deleted item in {target}",
                )
            case "sqs":
                return (f"message to {target}",)
            case "effect":
                return (f"effect {part.operation}",)
            case _ if part.service == HTTP_SERVICE:
                return (self.stable(str(part)),)
            case _:
                return str(part), f"{part.operation} on {target}"


def members_of_text(text: str) -> Mapping[str, object]:
    """The members of a message in JSON; none if it is no object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
