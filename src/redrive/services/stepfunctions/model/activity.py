"""Activities, as they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.stepfunctions.model.arns import activity_arn


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity: a queue of tasks that workers elsewhere ask for."""

    KIND: ClassVar[str] = "stepfunctions.activity"

    name: str
    created_at: Instant
    tags: Mapping[str, str] = field(default_factory=dict)
    encryption: Document = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        """The activity's ARN."""
        return activity_arn(scope, self.name)
