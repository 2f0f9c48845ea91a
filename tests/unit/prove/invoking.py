"""An invoker for tests of triggers: it keeps what it is asked to run, and answers as it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from redrive.core.clock import Instant
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.prove.stage.messages import Messages
from redrive.prove.stage.stage import START, Stage

DONE = InvocationResult(InvocationStatus.OK, b"null")


def failed(error_type: str) -> InvocationResult:
    """The function has raised an error of this type."""
    return InvocationResult(InvocationStatus.FUNCTION_ERROR, json.dumps({"errorType": error_type}).encode())


class Answering:
    """An invoker that keeps the time and the invocation of each run, and answers in turn; then that all is done."""

    def __init__(self, *answers: InvocationResult) -> None:
        self.answers = list(answers)
        self.runs: list[tuple[Instant, Invocation]] = []
        self.stage: Stage | None = None
        self.during: Callable[[Invocation], None] = lambda _: None
        """What happens while a run goes on."""

    def invoke(self, invocation: Invocation) -> InvocationResult:
        self.runs.append((0 if self.stage is None else self.stage.now - START, invocation))
        answer = self.answers.pop(0) if self.answers else DONE
        self.during(invocation)
        return answer

    def close(self) -> None:
        """Nothing is running."""

    @property
    def at_s(self) -> list[float]:
        """When the runs began, in seconds after the beginning."""
        return [at / 1000 for at, _ in self.runs]

    @property
    def events(self) -> list[Any]:
        """The events of the runs."""
        return [json.loads(invocation.payload) for _, invocation in self.runs]

    @property
    def request_ids(self) -> list[str]:
        """The request ids of the runs."""
        return [invocation.request_id for _, invocation in self.runs]


def stage_for(invoker: Answering) -> Stage:
    """A stage whose runs are those of the invoker."""
    invoker.stage = stage = Stage(invoker, seed=1)
    stage.begin_leg()
    return stage


def play_out(stage: Stage, messages: Messages, *, until_ms: int = 86_400_000) -> None:
    """Advance time until nothing is due any more."""
    while (due := messages.next_due()) is not None and due <= START + until_ms:
        stage.move_to(due)
        messages.turn()
