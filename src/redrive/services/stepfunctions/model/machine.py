"""State machines, their revisions, versions and aliases, as they are stored."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.stepfunctions.model.arns import machine_arn

_DIGITS = 10


class MachineType(enum.Enum):
    """What a machine promises: each transition exactly once, or speed."""

    STANDARD = "STANDARD"
    EXPRESS = "EXPRESS"


@dataclass(frozen=True, slots=True)
class Revision:
    """What an execution runs with. `name` is the machine's id, a slash, and the revision's id; it never changes."""

    KIND: ClassVar[str] = "stepfunctions.revision"

    name: str
    definition: str
    role_arn: str
    updated_at: Instant
    logging: Document = field(default_factory=dict)
    tracing: Document = field(default_factory=dict)
    encryption: Document = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The revision's id."""
        return self.name.rpartition("/")[2]

    def equals(self, other: Revision) -> bool:
        """Whether executions of both would do the same."""
        return _content(self) == _content(other)


@dataclass(frozen=True, slots=True)
class StateMachine:
    """A machine. `id` is drawn at its creation. `first_revision` has no id in answers until there is a second one.

    A machine that `is_deleting` has executions that have not ended yet.
    """

    KIND: ClassVar[str] = "stepfunctions.machine"

    name: str
    id: str
    type: MachineType
    created_at: Instant
    revision: str
    first_revision: str
    version_last: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    creation_description: str = ""
    is_deleting: bool = False

    def arn(self, scope: Scope) -> str:
        """The machine's ARN."""
        return machine_arn(scope, self.name)

    @property
    def shown_revision(self) -> str | None:
        """The id of the revision, where answers have one."""
        return None if self.revision == self.first_revision else self.revision


@dataclass(frozen=True, slots=True)
class Version:
    """A published revision. `name` is the machine's name, a slash and the number, padded so that versions sort."""

    KIND: ClassVar[str] = "stepfunctions.version"

    name: str
    revision: str
    created_at: Instant
    description: str = ""

    @property
    def number(self) -> int:
        """The version's number."""
        return int(self.name.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias. `routes` has one or two versions with their weights in percent. `name` is `MACHINE/ALIAS`."""

    KIND: ClassVar[str] = "stepfunctions.alias"

    name: str
    routes: tuple[Route, ...]
    created_at: Instant
    updated_at: Instant
    description: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """A version, and how many of a hundred executions it gets."""

    version: int
    weight: int


def version_name(machine: str, number: int) -> str:
    """The stored name of a version."""
    return f"{machine}/{number:0{_DIGITS}}"


def alias_name(machine: str, alias: str) -> str:
    """The stored name of an alias."""
    return f"{machine}/{alias}"


def _content(revision: Revision) -> tuple[object, ...]:
    return (revision.definition, revision.role_arn, revision.logging, revision.tracing, revision.encryption)
