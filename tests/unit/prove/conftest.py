"""Handlers of the tests, and the examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redrive.prove.process.subject import GivenSubject, NamedSubject, subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

EXAMPLES = Path(__file__).parents[3] / "examples" / "prove"
TEMPLATE = Path(__file__).parents[3] / "src" / "redrive" / "demo" / "template.yaml"

Prover = Callable[..., Verdict]


def example(name: str) -> NamedSubject:
    """The handler of an example."""
    return subject_of(f"{name}:handler", EXAMPLES)


@pytest.fixture
def proved() -> Prover:
    """Proves a callable with one fault, unless told otherwise."""

    def run(handler: Callable[[Any, Any], Any], **options: Any) -> Verdict:
        return prove(GivenSubject(handler), Options(**({"faults": 1} | options)))

    return run
