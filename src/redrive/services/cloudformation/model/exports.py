"""Exports: what one stack offers to the others of its account and region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Export:
    """A value under a name that is unique in its account and region."""

    KIND: ClassVar[str] = "cloudformation.export"

    name: str
    value: str
    stack_name: str
    stack_id: str
