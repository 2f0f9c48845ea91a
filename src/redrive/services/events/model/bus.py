"""Event buses, as they are stored, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope

DEFAULT_BUS = "default"
"""The bus that each account has in each region; nobody can delete it."""


@dataclass(frozen=True, slots=True)
class EventBus:
    """An event bus. `policy` is JSON text, empty if there is none.

    `created_at` is 0 for a default bus that nobody has changed yet.
    """

    KIND: ClassVar[str] = "events.bus"

    name: str
    created_at: Instant = 0
    modified_at: Instant = 0
    description: str | None = None
    kms_key: str | None = None
    dead_letter: Document | None = None
    log_config: Document | None = None
    policy: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        """The bus's ARN."""
        return bus_arn(scope, self.name)


class BusReference(NamedTuple):
    """The bus that a name or an ARN means: its account and region, and its name."""

    scope: Scope
    name: str

    @property
    def arn(self) -> str:
        """The bus's ARN."""
        return bus_arn(self.scope, self.name)


def bus_arn(scope: Scope, name: str) -> str:
    """The ARN of a bus."""
    return f"arn:aws:events:{scope.region}:{scope.account}:event-bus/{name}"


def reference_of(scope: Scope, written: str | None) -> BusReference:
    """The bus that a request means: by name in the caller's scope, by ARN, or the default bus."""
    if not written:
        return BusReference(scope, DEFAULT_BUS)
    if written.startswith("arn:"):
        _, _, _, region, account, resource = written.split(":", 5)
        return BusReference(Scope(account, region), resource.removeprefix("event-bus/"))
    return BusReference(scope, written)
