"""One run of the handler while it goes on: how it dies, and how its beginning and its end are told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.delivery.invocation import Invocation
from redrive.invoke.handlers import Answer
from redrive.prove.events import Delivered, Ending


class Died(BaseException):
    """The process of a run ends here. No Exception, so that the handler does not go on after it."""


@dataclass(slots=True)
class Run:
    """A run that is going on."""

    number: int
    deadline_at: Instant
    throttled: set[str] = field(default_factory=set)
    death: Ending | None = None

    def die(self, ending: Ending = Ending.DIED) -> None:
        """End here. Errors: Died, always."""
        self.death = ending
        raise Died


def delivered(at: Instant, run: int, invocation: Invocation) -> Delivered:
    """What a run is given: its messages, and how often each was received."""
    records = load_json(invocation.payload)["Records"]
    ids = tuple(str(record["messageId"]) for record in records)
    receives = tuple(int(record["attributes"]["ApproximateReceiveCount"]) for record in records)
    return Delivered(at, run, ids, receives)


def told(answer: Answer) -> str:
    """What a run returned or raised, in a line."""
    if answer.error_type is None:
        return answer.payload.decode()
    return f"{answer.error_type}: {json.loads(answer.payload)['errorMessage']}"
