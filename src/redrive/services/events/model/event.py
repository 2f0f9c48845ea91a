"""Events: the envelope that AWS writes around what a publisher has sent.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
"""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.store.documents import document_text


class Event(NamedTuple):
    """An event on its way: the envelope, and what is not in it.

    `key` is unique among the ways on which events reach rules: the same event may come to a bus by two of them. `hops`
    counts how often a bus has sent the event to another bus. `trace` is X-Ray's header, empty if there is none.
    """

    key: str
    document: Document
    hops: int = 0
    trace: str = ""

    @property
    def id(self) -> str:
        """The event's id, which PutEvents has answered."""
        return str(self.document["id"])

    @property
    def source(self) -> str:
        """The publisher's name."""
        return str(self.document["source"])

    @property
    def text(self) -> str:
        """The event as JSON, with AWS's order of keys."""
        return document_text(self.document)


def envelope(
    *, id: str, detail_type: str, source: str, scope: Scope, at: Instant, resources: list[str], detail: Document,
    replay_name: str = "",
) -> Document:  # fmt: skip
    """The envelope of an event. The time has whole seconds; a replayed event names its replay after the region."""
    document: Document = {
        "version": "0", "id": id, "detail-type": detail_type, "source": source, "account": scope.account,
        "time": format_instant(at - at % SECOND_MS), "region": scope.region,
    }  # fmt: skip
    if replay_name:
        document["replay-name"] = replay_name
    document["resources"] = resources
    document["detail"] = detail
    return document


def replayed(document: Document, replay_name: str) -> Document:
    """The same event as a replay sends it: it names the replay, after the region."""
    changed: Document = {}
    for key, value in document.items():
        changed[key] = value
        if key == "region":
            changed["replay-name"] = replay_name
    return changed
