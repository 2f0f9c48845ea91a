"""What it costs to make a handler idempotent: by redrive.handler, and by AWS Lambda Powertools.

Both ledgers are asked for the same: a handler of one event, which is new or was done before. A client of the engine is
recorded once; then its answers are given again, so that DynamoDB costs both the same. They are given in two places: to
the library, which shows what it costs by itself, and to botocore in the place of its connection, as in a real function.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Never, Protocol, cast

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig
from aws_lambda_powertools.utilities.idempotency import idempotent as powertools_idempotent
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from benchmarks.processes import ENVIRONMENT, PYTHON
from benchmarks.report import Figure
from redrive.gateway.botocore_http import request_of, response_to
from redrive.handler import DynamoDBLedger, idempotent, path
from redrive.handler.entropy import new_nonce
from redrive.handler.signatures import DynamoDBClient
from redrive.testing.world import World
from redrive.wire.message import HttpResponse

RUNS = 15
INVOCATIONS = 200
IMPORT = "from redrive.handler import DynamoDBLedger, SqsRecord, idempotent, scheduler_context, sqs_batch"
EVENT = {"id": "order-1", "customer": "c-1", "lines": [{"item": "i-1", "cents": 500}, {"item": "i-2", "cents": 250}]}

CLIENT = {
    "region_name": "us-east-1", "endpoint_url": "http://in-process.invalid", "aws_access_key_id": "000000000000",
    "aws_secret_access_key": "x",
}  # fmt: skip

Event = Mapping[str, object]
Answer = Mapping[str, object]
Handler = Callable[[Event, object], object]


class Context:
    """Lambda's context, with a deadline that never comes nearer."""

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


class Tape(Protocol):
    """A client of DynamoDB whose answers are recorded, and given again from then on."""

    client: DynamoDBClient
    answers: list[object]

    def replay(self) -> None:
        """From now on the recorded answers are given, in order, again and again."""
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """A library that makes a handler idempotent."""

    name: str
    table_key: str
    decorated: Callable[[Handler, DynamoDBClient], Handler]


def measure() -> Iterator[Figure]:
    """CPU per invocation over that of the bare handler, and how many times as much Powertools' is."""
    yield Figure("import of what the guide's handler uses, CPU", _import_ms(), "ms")
    bare = _cpu_us(_charge)
    yield Figure("the bare handler", bare, "µs")
    tapes: tuple[tuple[str, Callable[[World], Tape]], ...] = (("by itself", Client), ("with boto3", Connection))
    for where, tape_of in tapes:
        for what, times in (("a new execution", 1), ("a duplicate", 2)):
            costs: list[float] = []
            for way in WAYS:
                handler, calls = _recorded(way, tape_of, times)
                costs.append(_cpu_us(handler) - bare)
                yield Figure(f"{what}, {way.name} {where}, calls: {calls}", costs[-1], "µs")
            yield Figure(f"{what}, {where}: redrive / Powertools", costs[0] / costs[1], "")


def _charge(event: Event, _context: object) -> object:
    return {"charged": event["id"]}


def _redrive(handler: Handler, client: DynamoDBClient) -> Handler:
    recorded = new_nonce()

    def nonce() -> str:
        new_nonce()  # It costs what it costs, and recorded answers go with one nonce.
        return recorded

    return idempotent(key=path("id"), ledger=DynamoDBLedger("executions", client=client, nonce=nonce))(handler)


def _powertools(handler: Handler, client: DynamoDBClient) -> Handler:
    layer = DynamoDBPersistenceLayer(table_name="executions", boto3_client=cast("Never", client))
    decorate = powertools_idempotent(persistence_store=layer, config=IdempotencyConfig(event_key_jmespath="id"))
    return cast("Handler", decorate(handler))


WAYS = (Way("redrive", "execution_id", _redrive), Way("Powertools", "id", _powertools))


def _recorded(way: Way, tape_of: Callable[[World], Tape], times: int) -> tuple[Handler, int]:
    """A handler in its first invocation, or in its second; and the calls that this one makes."""
    world = World()
    world.client("dynamodb").create_table(
        TableName="executions", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": way.table_key, "AttributeType": "S"}],
        KeySchema=[{"AttributeName": way.table_key, "KeyType": "HASH"}],
    )  # fmt: skip
    tape = tape_of(world)
    for _ in range(times):
        tape.answers.clear()
        handler = way.decorated(_charge, tape.client)
        assert handler(EVENT, Context()) == {"charged": "order-1"}
    tape.replay()
    world.close()
    return handler, len(tape.answers)


class Client:
    """In the place of a client of boto3."""

    def __init__(self, world: World) -> None:
        self.client: DynamoDBClient = self
        self.answers: list[object] = []
        self._real = world.client("dynamodb")
        self._next = 0
        self.meta = self._real.meta

    def update_item(self, **request: object) -> Answer:
        return self._answer("update_item", request)

    def put_item(self, **request: object) -> Answer:
        return self._answer("put_item", request)

    def get_item(self, **request: object) -> Answer:
        return self._answer("get_item", request)

    def replay(self) -> None:
        self._real = None

    def _answer(self, operation: str, request: dict[str, object]) -> Answer:
        if self._real is not None:
            return self._record(operation, request)
        answer = self.answers[self._next % len(self.answers)]
        self._next += 1
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)  # It would grow with each time that it is raised.
        return cast("Answer", answer)

    def _record(self, operation: str, request: dict[str, object]) -> Answer:
        try:
            answer: Answer = getattr(self._real, operation)(**request)
        except Exception as error:
            self.answers.append(error)
            raise
        self.answers.append(answer)
        return answer


class Connection:
    """In the place of the connection of a client of boto3, which does all else that it does."""

    def __init__(self, world: World) -> None:
        self.client: DynamoDBClient = boto3.client("dynamodb", **CLIENT)
        self.answers: list[object] = []
        self._gateway = world.gateway
        self._is_recording = True
        self._next = 0
        self.client.meta.events.register("before-send", self._answer)

    def replay(self) -> None:
        self._is_recording = False

    def _answer(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        if self._is_recording:
            response = self._gateway.respond(request_of(request))
            self.answers.append(response)
        else:
            response = cast("HttpResponse", self.answers[self._next % len(self.answers)])
            self._next += 1
        return response_to(request, response)


def _cpu_us(handler: Handler) -> float:
    """CPU per invocation: the least of several runs, as other work on the machine only adds to it."""
    context = Context()
    runs: list[float] = []
    gc.disable()
    for _ in range(RUNS):
        gc.collect()
        before = time.process_time()
        for _ in range(INVOCATIONS):
            handler(EVENT, context)
        runs.append((time.process_time() - before) / INVOCATIONS * 1e6)
    gc.enable()
    return min(runs)


def _import_ms() -> float:
    """CPU of the imports in a new process: the median of several."""
    code = f"import time; before = time.process_time(); {IMPORT}; print(time.process_time() - before)"
    took = [
        subprocess.run([PYTHON, "-c", code], env=ENVIRONMENT, capture_output=True, check=True).stdout  # noqa: S603
        for _ in range(RUNS)
    ]
    return statistics.median(map(float, took)) * 1000
