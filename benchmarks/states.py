"""State machines by the CPU of their engine, in process, over a store on the disk whose commits are durable.

Executions are started so many to a commit, as a server with so many clients at once starts them. The first task is that
of a real server, with a real function.
"""

from __future__ import annotations

import gc
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
from botocore.client import BaseClient
from botocore.config import Config

from benchmarks.processes import ENVIRONMENT, ServerProcess, free_port, redrive_command, serving
from benchmarks.report import Figure
from benchmarks.startup import HEALTH
from redrive.core.documents import Document
from redrive.core.knobs import Knobs
from redrive.core.limits import Limits
from redrive.engine.settings import Settings
from redrive.store.api import Transaction
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import World

EXECUTIONS = 500
STATES = 20
TOGETHER = 16
"""How many executions are started in one commit."""
ITEMS = 10_000
WAITING = 100_000
FIRST_TASKS = 300
WARM_UP = 20
POLL_S = 0.01
PAGES = 100
ROLE = "arn:aws:iam::000000000000:role/bench"
SERVICES = ["states.amazonaws.com", "lambda.amazonaws.com"]


def measure(*, waiting: int = WAITING) -> Iterator[Figure]:
    """Transitions of both types, a distributed Map, the first task, pages of a long history, and waiting executions."""
    with TemporaryDirectory() as folder:
        world = _world(Path(folder) / "store.sqlite")
        for kind in ("STANDARD", "EXPRESS"):
            machine = _machine(world, kind.lower(), _passes(), type=kind)
            spent_s = _cpu_s(partial(_start_many, world, machine, EXECUTIONS))
            yield Figure(
                f"{kind} transitions, {STATES} to an execution", EXECUTIONS * STATES / spent_s, "per CPU second"
            )
        for kind in ("STANDARD", "EXPRESS"):
            calls = _machine(world, f"{kind.lower()}-calls", _calls(world), type=kind)
            spent_s = _cpu_s(partial(_start_many, world, calls, EXECUTIONS))
            rate = EXECUTIONS * STATES / spent_s
            yield Figure(
                f"{kind} transitions, each of which sends a message, {STATES} to an execution", rate, "per CPU second"
            )
        yield from _map_of_items(world)
        yield from _first_task()
        yield from _pages(world)
        yield from _waiting(world, waiting)
        world.close()


class _Durable(World):
    """A world whose store is a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(seed=1, settings=Settings(limits=Limits.RELAXED))

    def open_store(self, knobs: Knobs) -> SqliteStore:
        return SqliteStore(self._path, clock=self.clock, entropy=self.entropy, knobs=knobs)


def _world(path: Path) -> World:
    world = _Durable(path)
    _make_role(world.client("iam"))
    return world


def _make_role(iam: BaseClient) -> None:
    trust = {"Effect": "Allow", "Principal": {"Service": SERVICES}, "Action": "sts:AssumeRole"}
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    iam.create_role(RoleName="bench", AssumeRolePolicyDocument=_policy(trust))
    iam.put_role_policy(RoleName="bench", PolicyName="all", PolicyDocument=_policy(everything))


def _policy(statement: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _machine(world: World, name: str, states: Document, **more: object) -> str:
    text = json.dumps({"StartAt": next(iter(states)), "States": states})
    made = world.call("stepfunctions", "CreateStateMachine", name=name, definition=text, roleArn=ROLE, **more)
    return str(made["stateMachineArn"])


def _start(world: World, machine: str, text: str = '{"a":1}') -> str:
    return str(world.call("stepfunctions", "StartExecution", stateMachineArn=machine, input=text)["executionArn"])


def _start_many(world: World, machine: str, count: int) -> None:
    """Start executions, TOGETHER in one commit."""
    params = {"stateMachineArn": machine, "input": '{"a":1}'}
    begin = world.engine.registry.begin

    def started(tx: Transaction) -> object:
        return begin(tx, world.caller(), "stepfunctions", "StartExecution", params)

    for at in range(0, count, TOGETHER):
        answers, topics = world.store.commit([started] * min(TOGETHER, count - at))
        assert not any(isinstance(answer, BaseException) for answer in answers), answers[0]
        world.store.announce(topics)


def _passes() -> Document:
    states: Document = {}
    for number in range(STATES):
        states[f"S{number}"] = {"Type": "Pass", "Result": number, "ResultPath": "$.last", **_after(number)}
    return states


def _calls(world: World) -> Document:
    url = world.call("sqs", "CreateQueue", QueueName="bench")["QueueUrl"]
    params = {"QueueUrl": url, "MessageBody": {"a.$": "$.a"}}
    task = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": params, "ResultPath": None}
    return {f"S{number}": {**task, **_after(number)} for number in range(STATES)}


def _after(number: int) -> Document:
    return {"Next": f"S{number + 1}"} if number + 1 < STATES else {"End": True}


def _map_of_items(world: World) -> Iterator[Figure]:
    """By the clock: what the disk and other work on the machine take is in it."""
    spent_s: list[float] = []
    wall_s = _wall_s(lambda: spent_s.append(_cpu_s(lambda: _map(world))))
    yield Figure(f"Map of {ITEMS:,} items, distributed", wall_s, "s")
    yield Figure("of it, CPU", spent_s[0], "s")


def _map(world: World) -> None:
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    processor = {"ProcessorConfig": config, "StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    machine = _machine(world, "map", {"M": {"Type": "Map", "ItemProcessor": processor, "End": True}})
    arn = _start(world, machine, json.dumps(list(range(ITEMS))))
    world.settle()
    assert world.call("stepfunctions", "DescribeExecution", executionArn=arn)["status"] == "SUCCEEDED"


def _first_task() -> Iterator[Figure]:
    """From the call of StartExecution by a client until the function runs in its process, and to the answer."""
    port = free_port()
    with TemporaryDirectory() as folder:
        command = redrive_command(port, "--data", folder)
        with serving(command, port, probe=HEALTH, env=ENVIRONMENT) as server:
            lasted, answered = _executions_of(server)
    for what, times in (("the first task", lasted), ("its answer", answered)):
        for label, fraction in (("p50", 0.5), ("p99", 0.99)):
            value = sorted(times)[int(len(times) * fraction)] * 1000
            yield Figure(f"StartExecution to {what}, over HTTP, {label}", value, "ms")


def _executions_of(server: ServerProcess) -> tuple[list[float], list[float]]:
    """How long the first task and the answer of StartExecution took, one execution after another, in seconds."""
    session, config = (
        boto3.session.Session("test", "test", region_name="us-east-1"),
        Config(retries={"mode": "standard"}),
    )
    iam, functions, states = (
        session.client(name, endpoint_url=f"http://127.0.0.1:{server.port}", config=config)
        for name in ("iam", "lambda", "stepfunctions")
    )
    _make_role(iam)
    made = functions.create_function(
        FunctionName="first", Runtime="python3.12", Handler="code.handler", Role=ROLE, Code={"ZipFile": _archive()}
    )
    functions.get_waiter("function_active_v2").wait(FunctionName="first")
    text = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": made["FunctionArn"], "End": True}}})
    machine = states.create_state_machine(name="first", definition=text, roleArn=ROLE)["stateMachineArn"]
    lasted: list[float] = []
    answered: list[float] = []
    for _ in range(WARM_UP + FIRST_TASKS):
        called = time.time()
        arn = states.start_execution(stateMachineArn=machine)["executionArn"]
        answered.append(time.time() - called)
        while (found := states.describe_execution(executionArn=arn))["status"] == "RUNNING":
            time.sleep(POLL_S)
        lasted.append(float(found["output"]) - called)
    return lasted[WARM_UP:], answered[WARM_UP:]


def _archive() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("code.py", "import time\ndef handler(event, context): return time.time()")
    return archive.getvalue()


def _pages(world: World) -> Iterator[Figure]:
    """The first and the last page of a history of 25,000 events."""
    loop = {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}}
    arn = _start(world, _machine(world, "loop", loop))
    world.settle()
    for name, reverse in (("first", False), ("last", True)):
        params: Document = {"executionArn": arn, "maxResults": 100, "reverseOrder": reverse}
        spent_s = _cpu_s(partial(_read, world, params))
        yield Figure(f"{name} page of 100 of 25,000 events", spent_s * 1000 / PAGES, "ms of CPU")


def _read(world: World, params: Document) -> None:
    for _ in range(PAGES):
        world.call("stepfunctions", "GetExecutionHistory", **params)


def _waiting(world: World, count: int) -> Iterator[Figure]:
    """Executions that wait for a day: what they take in memory, and what the end of all waits costs."""
    machine = _machine(world, "waits", {"W": {"Type": "Wait", "Seconds": 86_400, "End": True}})
    gc.collect()
    before_mb = _rss_mb()
    spent_s = _cpu_s(partial(_start_many, world, machine, count))
    yield Figure(f"StartExecution of {count:,} that wait", count / spent_s, "per CPU second")
    gc.collect()
    yield Figure(f"memory for {count:,} waiting executions", _rss_mb() - before_mb, "MB")
    yield Figure("memory of the whole process with them", _rss_mb(), "MB")
    yield Figure(
        f"{count:,} waits that end in the same second", count / _cpu_s(lambda: world.advance(days=2)), "per CPU second"
    )


def _rss_mb() -> float:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def _cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _wall_s(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
