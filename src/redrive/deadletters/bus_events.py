"""A gate for events that go to a bus: it refuses those that PutEvents refuses, and those that nobody would get.

PutEvents accepts an event that no rule asks for. Its letter would be deleted, and the work never done: that happens
when the source was rewritten, because nobody but AWS may send as `aws.s3`, and the rule asks for the old source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import load_json
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.execution_keys import parsed_or_text
from redrive.deadletters.gates import Refusal
from redrive.deadletters.letter import Letter
from redrive.deadletters.sources import Client
from redrive.languages.event_pattern import Matcher, PatternError, parse

KEPT_MS = MINUTE_MS
"""For how long the rules of a bus that were asked are not asked again."""

OF_AWS = "aws."


class WantedEvents:
    """Refuses events that no enabled rule of their bus asks for. Rules that may not be asked refuse nothing."""

    def __init__(self, client: Client, now: Callable[[], Instant]) -> None:
        self._client = client
        self._now = now
        self._kept: dict[str, tuple[Instant, Matcher | None]] = {}

    def refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        """The reason against sending; None for other destinations."""
        if to.kind is not To.BUS:
            return None
        try:
            event = load_json(letter.work.text)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            return Refusal("bus", "the work is no event")
        source = str(event.get("source", ""))
        if source.startswith(OF_AWS):
            return Refusal("bus", refused_source(source))
        detail = parsed_or_text(event.get("detail"))  # PutEvents takes it as a text.
        if not isinstance(detail, dict):
            return Refusal("bus", "the detail of the event is no object: PutEvents refuses it")
        matcher = self._matcher(to.name)
        if matcher is None or matcher.matching(event | {"detail": detail}):
            return None
        kind = event.get("detail-type", "")
        return Refusal("bus", f"no enabled rule of {to.name} asks for `{kind}` of `{source}`: nobody would get it")

    def _matcher(self, bus: str) -> Matcher | None:
        kept, now = self._kept.get(bus), self._now()
        if kept is not None and now - kept[0] < KEPT_MS:
            return kept[1]
        try:
            found = Matcher.of(dict(self._patterns(bus)))
        except (ClientError, PatternError):
            found = None
        self._kept[bus] = now, found
        return found

    def _patterns(self, bus: str) -> Iterator[tuple[str, Any]]:
        for page in self._client("events").get_paginator("list_rules").paginate(EventBusName=bus):
            for rule in page["Rules"]:
                if rule.get("EventPattern") and rule.get("State") != "DISABLED":
                    yield rule["Name"], parse(rule["EventPattern"])


def refused_source(source: str) -> str:
    """Why PutEvents does not take events of a source of AWS, and what to do."""
    return (
        f"nobody but AWS may send events of {source}: rewrite /source by a patch (redrive dlq plan --source NAME), "
        f"and let the rule ask for that, too"
    )
