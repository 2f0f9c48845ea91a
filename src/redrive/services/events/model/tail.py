"""Tails: who watches the events of a bus as they are accepted, and what is kept for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.services.events.model.event import Event
from redrive.services.events.model.rule import Rule


@dataclass(frozen=True, slots=True)
class Tail:
    """Somebody who watches the events of a bus, or of all buses of a region if `bus_name` is empty.

    What is kept for a tail are rows of an archive with the id of the tail. `asked_seq` is about the number of the row
    that was the last when somebody asked: a tail that nobody asks about ends.
    """

    KIND: ClassVar[str] = "events.tail"

    name: str
    bus_name: str
    started_at: Instant
    asked_seq: int

    def watches(self, bus_name: str) -> bool:
        """Whether events of a bus are kept for this tail."""
        return not self.bus_name or self.bus_name == bus_name


def tailed(bus_name: str, event: Event, rules: Sequence[Rule], execution_id: str, now: Instant) -> str:
    """What is kept of an event, as JSON: the event itself, and the rules with the targets that they had then."""
    document: Document = {
        "bus": bus_name, "execution_id": execution_id, "accepted_at": now, "event": event.text,
        "rules": [
            {"name": rule.rule_name, "targets": [{"id": one["Id"], "arn": one["Arn"]} for one in rule.targets]}
            for rule in rules
        ],
    }  # fmt: skip
    return dump_json(document)
