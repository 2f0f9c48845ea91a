"""A call of a client, as it is made ready once and may be made many times; and the ways on which a call can proceed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from botocore.client import BaseClient
from botocore.model import OperationModel

from redrive.core.clock import Instant
from redrive.prove.calls.calls import Call, Params
from redrive.prove.calls.given import NOTHING_GIVEN, Given
from redrive.prove.effects.journal import Journal, Trace
from redrive.prove.stage.question import Question
from redrive.prove.stage.stage import is_of_engine

ENDPOINT_URL = "http://in-process.redrive.internal"
"""The endpoint of the handler's clients: a host that does not exist."""
HOST = ENDPOINT_URL.removeprefix("http://")

TELLING_SERVICES = frozenset({"kinesis", "sns"})
"""Services whose calls tell others, whom no proof knows. Their topics and streams need not exist."""

TOTAL_ATTEMPTS_DEFAULT = 5  # https://docs.aws.amazon.com/boto3/latest/guide/retries.html (legacy mode)


class Way(enum.Enum):
    """How a call proceeds."""

    NORMAL = enum.auto()
    REFUSED = enum.auto()
    LOST = enum.auto()
    RETRIED = enum.auto()
    PARTLY = enum.auto()
    UNREACHED = enum.auto()
    BAD_GATEWAY = enum.auto()


@dataclass(slots=True, eq=False)
class Asked:
    """A call of a client. `params` are as the user gave them, those of `call` as they are sent.

    `guessed` is called when an answer of the engine was replaced by a made-up one. `read` is what the handler reads of
    JSON in answers: made-up bodies have it. `given` is what somebody has said of made-up answers. `goes_on` says
    whether what it sends reaches another function under the same proof: then the engine passes it on.
    """

    client: BaseClient
    call: Call
    params: Params
    guessed: Callable[[], None] = lambda: None
    read: Callable[[], Mapping[str, object]] = dict
    given: Given = NOTHING_GIVEN
    goes_on: bool = False
    operation: OperationModel = field(init=False)
    """Its model."""
    is_outside: bool = field(init=False)
    """Whether the call is an effect by itself, and not what it leaves in the engine."""
    can_retry: bool = field(init=False)
    """Whether its client retries by itself when an answer is lost."""
    question: Question = field(init=False)
    """The question that the call asks the engine."""
    refused: Question = field(init=False)
    """The question where the call is refused."""
    after_call: str = field(init=False)
    """The event of botocore after the call."""
    _left: dict[object, tuple[Params, frozenset[Trace]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        model, call = self.client.meta.service_model, self.call
        self.operation = model.operation_model(call.operation)
        is_told = call.service in TELLING_SERVICES and not self.goes_on
        self.is_outside = not is_of_engine(call.service) or is_told
        retries = self.client.meta.config.retries or {}
        self.can_retry = int(retries.get("total_max_attempts", TOTAL_ATTEMPTS_DEFAULT)) > 1
        self.question = Question((call.service, call.operation, call.params))
        self.refused = Question(("refused", *self.question.asked))
        self.after_call = f"after-call.{model.service_id.hyphenize()}.{call.operation}"

    def note(self, journal: Journal, answer: Params, now: Instant) -> None:
        """Record that the call has taken effect: what it leaves is known where the same was left before."""
        key = (journal.traces, id(answer), now)
        answered, traces = self._left.get(key, (None, None))
        if traces is not None and answered is answer:
            journal.traces = traces
            return
        journal.note(self.call, answer, now)
        self._left[key] = answer, journal.traces  # The id of an answer that is kept is nobody else's.
