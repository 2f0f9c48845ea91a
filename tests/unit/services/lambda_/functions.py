"""What the tests of Lambda share: an invoker that answers as it is told, archives, and a small engine around both."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from redrive.core.clock import VirtualClock, parse_instant
from redrive.core.connected_calls import ConnectedCall
from redrive.core.documents import Document
from redrive.core.entropy import SeededEntropy, new_uuid
from redrive.core.errors import ServiceError
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits
from redrive.core.log import SilentLog
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller, Scope
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.operation import Beforehand, ByNode, Digesting, EventStream, Outside, StreamedOutside, Wait
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus, LogLine
from redrive.delivery.sources.stream_sources import StartingPoint
from redrive.delivery.worker import Worker
from redrive.engine.build import SERVICES
from redrive.engine.engine import Engine
from redrive.engine.registry import Registry
from redrive.engine.virtual import VirtualTime
from redrive.services.iam import access
from redrive.services.lambda_.queue_events import QueueEvents
from redrive.services.lambda_.source import LambdaSource
from redrive.services.lambda_.workers.mappings import MappingWorker
from redrive.services.lambda_.workers.streams import StreamMappingWorker
from redrive.services.sqs.executions import executions_of
from redrive.services.sqs.visibility import count_visible, next_visible
from redrive.store.api import NO_CONTEXT, QueueMessage, Transaction
from redrive.store.sqlite import SqliteStore
from redrive.wire.model.files import Models
from tests.unit.services.lambda_.shards import Shards

START = parse_instant("2025-01-01T00:00:00Z")
SCOPE = Scope("000000000000", "us-east-1")

ROLE = "arn:aws:iam::000000000000:role/worker"
ARN = "arn:aws:lambda:us-east-1:000000000000:function:"
QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:"
STREAM = "2025/01/01/[$LATEST]0123456789abcdef0123456789abcdef"


def answered(value: object) -> InvocationResult:
    """A run that returned this value, after printing a line."""
    return InvocationResult(
        InvocationStatus.OK,
        payload=json.dumps(value).encode(),
        lines=(LogLine(START, "at work"),),
        log_stream=STREAM,
        duration_ms=1.25,
    )


def raised(message: str, error_type: str = "ValueError") -> InvocationResult:
    """A run that ended in an error."""
    document = {"errorMessage": message, "errorType": error_type}
    return InvocationResult(
        InvocationStatus.FUNCTION_ERROR, payload=json.dumps(document).encode(), log_stream=STREAM, duration_ms=2.0
    )


THROTTLED = InvocationResult(InvocationStatus.THROTTLED, error="ConcurrentInvocationLimitExceeded")
BROKEN = InvocationResult(InvocationStatus.SERVICE_ERROR, error="the archive is gone")


class TellingInvoker:
    """An Invoker that keeps what it was asked, and answers with what `answer` makes of it."""

    def __init__(self) -> None:
        self.invocations: list[Invocation] = []
        self.answer: Callable[[Invocation], InvocationResult] = lambda _: answered({"done": True})

    def invoke(self, invocation: Invocation) -> InvocationResult:
        self.invocations.append(invocation)
        return self.answer(invocation)

    def close(self) -> None:
        """Nothing is running."""

    @property
    def events(self) -> list[Any]:
        """The events of all runs."""
        return [json.loads(invocation.payload) for invocation in self.invocations]


def archive(
    text: str = "def handler(event, context):\n    return event\n", *, name: str = "app.py", padding: int = 0
) -> bytes:
    """A zip archive with one file, the module `app`; it has `padding` bytes more, which nobody reads."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(zipfile.ZipInfo(name), text)
        if padding:
            file.writestr(zipfile.ZipInfo("padding"), bytes(padding))
    return content.getvalue()


@functools.cache
def models() -> Models:
    """AWS's models, read once for all tests: they do not change."""
    return Models()


class Surroundings:
    """The port to the other services, where IAM refuses what a test says and CloudWatch Logs keeps what it is given."""

    limits = Limits.STRICT
    has_rates = False
    on_unknown = OnUnknown.REFUSE

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.roles_refused: set[str] = set()
        self.actions_refused: set[str] = set()
        self.groups: dict[str, dict[str, list[str]]] = {}
        self.stream = Shards()

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        if service == "logs":
            return self._log(tx, caller, operation, params)
        with tx.savepoint():
            answer = self._registry.begin(tx, caller, service, operation, params)
        assert not isinstance(answer, Beforehand | ByNode | Digesting | Outside | EventStream | StreamedOutside)
        assert not isinstance(answer, ServiceError)
        return answer.result if isinstance(answer, Wait) else dict(answer)

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        raise AssertionError("no document is read here")

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        raise AssertionError("no document is read here")

    def shown(self, service: str, operation: str, answer: Mapping[str, object]) -> Document:
        raise AssertionError("no answer is shown here")

    def declares(self, service: str, operation: str, code: str) -> bool:
        raise AssertionError("nobody asks for errors here")

    def assume_role(
        self, tx: Transaction, role_arn: str, *, service: str, session_name: str, region: str, request_id: str,
        source_arn: str | None = None,
    ) -> Caller:  # fmt: skip
        assert service == "lambda.amazonaws.com"
        if role_arn in self.roles_refused:
            raise ServiceError("AccessDenied", f"no: sts:AssumeRole {role_arn}")
        return Caller(Scope(role_arn.split(":")[4], region), request_id, role_arn, session_name)

    def holder_id(self, tx: Transaction, caller: Caller) -> str:
        raise AssertionError("nobody is named here")

    def publish_event(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        raise AssertionError("no service tells anything here")

    def announce_queues(self, tx: Transaction, arns: Iterable[str]) -> None:
        """Nothing is sent to queues here."""

    def send_to_queues(self, tx: Transaction, messages: Sequence[QueueMessage]) -> Sequence[str | None]:
        return [None for _ in messages]

    def publish_read_call(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        raise AssertionError("no call is recorded here")

    def connection(self, tx: Transaction, caller: Caller, arn: str) -> ConnectedCall | None:
        raise NotImplementedError

    def connection_refused(self, tx: Transaction, arn: str, headers: Sequence[tuple[str, str]]) -> None:
        raise NotImplementedError

    def vended_log_types(self, tx: Transaction, resource_arn: str) -> frozenset[str]:
        return frozenset()

    def vend_logs(
        self, tx: Transaction, resource_arn: str, stream: str, records: Mapping[str, Sequence[Document]]
    ) -> None:
        raise AssertionError("no service writes logs here")

    def begin_reading(
        self, tx: Transaction, caller: Caller, stream_arn: str, start: str, at: int | None
    ) -> Mapping[str, int]:
        shards = self.stream.shards(tx, caller, stream_arn)
        begin = StartingPoint(start)
        return {shard.id: self.stream.position(tx, stream_arn, shard.id, begin, at) for shard in shards}

    def user_of(self, tx: Transaction, caller: Caller, access_key_id: str, service: str) -> Caller:
        raise AssertionError("nobody calls with a key here")

    def authorize(
        self, tx: Transaction, caller: Caller, action: str, resource: str, *,
        context: Mapping[str, tuple[str, ...]] = NO_CONTEXT, policy: str = "", resource_account: str | None = None,
        more: Callable[[], Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:  # fmt: skip
        if caller.role_arn is None:
            access.authorize(tx, caller, action, resource, context=context, policy=policy)
        elif action in self.actions_refused:
            raise ServiceError("AccessDeniedException", f"no: {action}")

    def _log(self, tx: Transaction, caller: Caller, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.authorize(tx, caller, f"logs:{operation}", "*")
        group, stream = params["logGroupName"], params.get("logStreamName", "")
        if operation == "CreateLogGroup":
            self.groups[group] = {}
        elif operation == "CreateLogStream":
            self.groups[group][stream] = []
        elif stream not in self.groups.get(group, {}):
            raise ServiceError("ResourceNotFoundException", "The specified log group does not exist.")
        else:
            self.groups[group][stream] += [event["message"] for event in params["logEvents"]]
        return {}


class Rig:
    """An engine in memory and virtual time, with Lambda and SQS in it."""

    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        self.entropy = SeededEntropy(1)
        self.invoker = TellingInvoker()
        self.store = SqliteStore(None, clock=self.clock, entropy=self.entropy)
        self.registry = Registry(models(), {name: SERVICES[name] for name in ("lambda", "sqs")})
        self.around = Surroundings(self.registry)
        self.store.bind(self.around)
        self.mappings = MappingWorker(
            [QueueEvents(next_visible=next_visible, count_visible=count_visible, executions_of=executions_of)],
            SilentLog(),
        )
        self.streams = StreamMappingWorker([self.around.stream], SilentLog())
        workers: list[Worker] = [DeliveryWorker([LambdaSource()], SilentLog()), self.mappings, self.streams]
        self.engine = Engine(self.store.run, self.registry, workers, self.invoker, SilentLog())
        self._time = VirtualTime(self.engine, self.clock)

    def caller(self, role_arn: str | None = None) -> Caller:
        """The account itself, or a session of a role."""
        return Caller(SCOPE, new_uuid(self.entropy), role_arn, "test")

    def call(self, operation: str, **params: object) -> dict[str, Any]:
        """Run an operation of Lambda."""
        return self.engine.call(self.caller(), "lambda", operation, params)

    def sqs(self, operation: str, **params: object) -> dict[str, Any]:
        """Run an operation of SQS."""
        return self.engine.call(self.caller(), "sqs", operation, params)

    def refusal(self, operation: str, **params: object) -> tuple[str, str]:
        """The code and message with which Lambda refuses a call."""
        try:
            self.call(operation, **params)
        except ServiceError as error:
            return error.code, error.message
        raise AssertionError(f"{operation} was not refused")

    def create_function(self, name: str = "worker", **params: object) -> dict[str, Any]:
        """A function with the defaults of AWS."""
        code = {"ZipFile": archive()}
        given = {"Runtime": "python3.12", "Role": ROLE, "Handler": "app.handler", "Code": code, **params}
        return self.call("CreateFunction", FunctionName=name, **given)

    def create_queue(self, name: str, **attributes: str) -> str:
        """A queue; answers its ARN."""
        self.sqs("CreateQueue", QueueName=name, Attributes=attributes)
        return f"{QUEUE_ARN}{name}"

    def messages(self, queue: str) -> list[dict[str, Any]]:
        """Up to ten messages that are visible."""
        answer = self.sqs(
            "ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"], VisibilityTimeout=0,
        )  # fmt: skip
        return list(answer.get("Messages") or [])

    def count(self, queue: str) -> int:
        """How many messages a queue holds, visible or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs("GetQueueAttributes", QueueUrl=queue, AttributeNames=names)["Attributes"]
        return sum(int(value) for value in attributes.values())

    def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that comes due."""
        self._time.advance_to(self.clock.now() + round(seconds * 1000))
