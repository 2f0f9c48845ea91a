"""Where a letter goes back: a value with a text form, and the destination that follows from a letter.

    queue:NAME_OR_URL       function:NAME_OR_ARN       topic:ARN                 stream:ARN
    bus:NAME                stateMachine:ARN           api:SERVICE:OPERATION      execution:ARN

An event that one target of a rule did not get goes to this target: PutEvents would reach all other targets of all rules
a second time. So a bus has to be named by the user. The records of a batch go to the function whose mapping gave them
up: back in the stream, all its readers would get them.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redrive.core.documents import load_json
from redrive.deadletters.letter import Letter, Origin
from redrive.deadletters.sources import Source


class To(enum.Enum):
    """What kind of resource takes letters."""

    QUEUE = "queue"
    BUS = "bus"
    FUNCTION = "function"
    TOPIC = "topic"
    STATE_MACHINE = "stateMachine"
    STREAM = "stream"
    """A stream of Kinesis."""
    EXECUTION = "execution"
    """An execution that has failed goes on at the step that failed (RedriveExecution)."""
    API = "api"
    """The request of a schedule's target, made again."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where letters go. `name` is a name, a URL or an ARN; of an API it is the service."""

    kind: To
    name: str
    operation: str = ""
    """The operation of an API, as in a universal target: `sendMessage`."""

    @property
    def text(self) -> str:
        """The form that `read_destination` reads."""
        return ":".join(filter(None, (self.kind.value, self.name, self.operation)))


@dataclass(frozen=True, slots=True)
class Nowhere:
    """A letter does not go anywhere by itself, and why."""

    reason: str
    arn: str = ""
    """What the work was for, if that is known although nothing can be sent there."""


SourcesOf = Callable[[], Sequence[Source]]
"""The sources of the dead-letter queue. Asked only for letters that do not name their own."""

_UNIVERSAL = re.compile(r"arn:aws[\w-]*:scheduler:::aws-sdk:(?P<service>[^:]+):(?P<operation>[^:]+)")

_BY_SERVICE = {"sqs": To.QUEUE, "sns": To.TOPIC}

_STARTS = ("sfn", "startExecution")
"""The target of a schedule that starts an execution: its state machine stands in the request."""


def read_destination(text: str) -> Destination:
    """Read a destination. Errors: ValueError, whose text says what is wrong."""
    kind_text, _, name = text.partition(":")
    kind = next((kind for kind in To if kind.value == kind_text), None)
    if kind is None or not name:
        kinds = ", ".join(kind.value for kind in To)
        raise ValueError(f"`{text}` is no destination: write KIND:NAME, KIND one of {kinds}")
    if kind is not To.API:
        return Destination(kind, name)
    service, _, operation = name.partition(":")
    if not operation:
        raise ValueError(f"`{text}` names no operation: write api:SERVICE:OPERATION, such as api:sqs:sendMessage")
    return Destination(kind, service, operation)


def usual(letter: Letter, sources: SourcesOf) -> Destination | Nowhere:
    """The destination that follows from a letter."""
    match letter.origin:
        case Origin.QUEUE:
            return Destination(To.QUEUE, letter.source_arn)
        case Origin.SCHEDULE:
            return _of_schedule(letter)
        case Origin.RULE | Origin.STREAM | Origin.EXECUTION:
            return of_arn(letter.work.target_arn)
        case Origin.DESTINATION:
            return of_arn(letter.source_arn)
        case Origin.FUNCTION:
            return _of_only_function(sources())
        case Origin.SUBSCRIPTION:
            return _of_only_subscription(letter.source_arn, sources())
        case Origin.SUBSCRIBER | Origin.UNKNOWN:
            return Nowhere("the letter does not say where it came from: name a destination", letter.work.target_arn)


def _of_schedule(letter: Letter) -> Destination | Nowhere:
    to = of_arn(letter.work.target_arn)
    if isinstance(to, Destination) and (to.name, to.operation) == _STARTS:
        machine_arn = member_of(letter.work.text, "StateMachineArn")
        if machine_arn:
            return Destination(To.STATE_MACHINE, machine_arn)
    return to


def member_of(text: str, *names: str) -> str:
    """The first of these members that a request of an API has; empty if it has none of them."""
    try:
        request = load_json(text)
    except ValueError:
        return ""
    found = (request[name] for name in names if name in request) if isinstance(request, dict) else ()
    return next((one for one in found if isinstance(one, str)), "")


def of_arn(arn: str) -> Destination | Nowhere:
    """The destination with an ARN, or of a universal target."""
    universal = _UNIVERSAL.fullmatch(arn)
    if universal is not None:
        return Destination(To.API, universal["service"], universal["operation"])
    parts = arn.split(":", 5)
    if len(parts) < 6:
        return Nowhere(f"`{arn}` is no ARN" if arn else "the letter names no target")
    service, resource = parts[2], parts[5]
    if service in _BY_SERVICE:
        return Destination(_BY_SERVICE[service], arn)
    if service == "lambda":
        return Destination(To.FUNCTION, arn.removesuffix(":$LATEST"))
    if service == "events" and resource.startswith("event-bus/"):
        return Destination(To.BUS, arn)
    if service == "states" and resource.startswith("stateMachine:"):
        return Destination(To.STATE_MACHINE, arn)
    if service == "states" and resource.startswith("execution:"):
        return Destination(To.EXECUTION, arn)
    if service == "kinesis" and resource.startswith("stream/"):
        return Destination(To.STREAM, arn)
    return Nowhere(f"nothing can be sent to {arn}: name another destination", arn)


def _of_only_function(sources: Sequence[Source]) -> Destination | Nowhere:
    """A letter of a function's dead-letter queue does not name the function."""
    found = sorted({source["arn"] for source in sources if source["kind"] == "function"})
    if len(found) == 1:
        return Destination(To.FUNCTION, found[0])
    why = "no function names this queue" if not found else f"{len(found)} functions name this queue"
    return Nowhere(f"the letter does not name its function, and {why}: name it")


def _of_only_subscription(topic_arn: str, sources: Sequence[Source]) -> Destination | Nowhere:
    """A letter of a subscription names the topic, whose other subscriptions have got the notification."""
    found = sorted(
        {
            source.get("endpoint", "")
            for source in sources
            if source["kind"] == "subscription" and topic_arn in ("", source["arn"])
        }
    )
    if len(found) != 1:
        why = "no subscription names this queue" if not found else f"{len(found)} subscriptions name this queue"
        return Nowhere(f"the letter does not name its subscription, and {why}: name the endpoint", topic_arn)
    return of_arn(found[0])
