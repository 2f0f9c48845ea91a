"""Exports: values of a stack that other stacks in its account and region can import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Export:
    """An exported value; the name is unique in its account and region."""

    KIND: ClassVar[str] = "cloudformation.export"

    name: str
    value: str
    stack_name: str
    stack_id: str
