"""State machines by the CPU of their engine, in process, over a store on the disk whose commits are durable."""

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

from benchmarks.report import Figure
from redrive.core.documents import Document
from redrive.core.knobs import Knobs
from redrive.core.limits import Limits
from redrive.engine.build import Settings
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import World

EXECUTIONS = 500
STATES = 20
ITEMS = 10_000
WAITING = 100_000
FIRST_TASKS = 300
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
        calls = _machine(world, "calls", _calls(world))
        spent_s = _cpu_s(partial(_start_many, world, calls, EXECUTIONS))
        yield Figure("transitions that send a message", EXECUTIONS * 2 / spent_s, "per CPU second")
        yield Figure(f"Map of {ITEMS:,} items, distributed", _wall_s(lambda: _map(world)), "s")
        yield from _first_task(world)
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
    trust = {"Effect": "Allow", "Principal": {"Service": SERVICES}, "Action": "sts:AssumeRole"}
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    world.call("iam", "CreateRole", RoleName="bench", AssumeRolePolicyDocument=_policy(trust))
    world.call("iam", "PutRolePolicy", RoleName="bench", PolicyName="all", PolicyDocument=_policy(everything))
    return world


def _policy(statement: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _machine(world: World, name: str, states: Document, **more: object) -> str:
    text = json.dumps({"StartAt": next(iter(states)), "States": states})
    made = world.call("stepfunctions", "CreateStateMachine", name=name, definition=text, roleArn=ROLE, **more)
    return str(made["stateMachineArn"])


def _start(world: World, machine: str, text: str = '{"a":1}') -> str:
    return str(world.call("stepfunctions", "StartExecution", stateMachineArn=machine, input=text)["executionArn"])


def _start_many(world: World, machine: str, count: int) -> None:
    for _ in range(count):
        _start(world, machine)


def _passes() -> Document:
    states: Document = {}
    for number in range(STATES):
        after = {"Next": f"S{number + 1}"} if number + 1 < STATES else {"End": True}
        states[f"S{number}"] = {"Type": "Pass", "Result": number, "ResultPath": "$.last", **after}
    return states


def _calls(world: World) -> Document:
    url = world.call("sqs", "CreateQueue", QueueName="bench")["QueueUrl"]
    params = {"QueueUrl": url, "MessageBody": {"a.$": "$.a"}}
    task = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": params, "ResultPath": None}
    return {"A": {**task, "Next": "B"}, "B": {**task, "End": True}}


def _map(world: World) -> None:
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    processor = {"ProcessorConfig": config, "StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    machine = _machine(world, "map", {"M": {"Type": "Map", "ItemProcessor": processor, "End": True}})
    arn = _start(world, machine, json.dumps(list(range(ITEMS))))
    world.settle()
    assert world.call("stepfunctions", "DescribeExecution", executionArn=arn)["status"] == "SUCCEEDED"


def _first_task(world: World) -> Iterator[Figure]:
    """From the call of StartExecution until the handler runs, without HTTP."""
    began: list[float] = []
    world.functions.register("first", lambda *_: began.append(time.perf_counter()))
    made = world.call(
        "lambda", "CreateFunction", FunctionName="first", Runtime="python3.12", Handler="code.handler", Role=ROLE,
        Code={"ZipFile": _archive()},
    )  # fmt: skip
    world.settle()
    machine = _machine(world, "first", {"A": {"Type": "Task", "Resource": made["FunctionArn"], "End": True}})
    times: list[float] = []
    for _ in range(FIRST_TASKS):
        called = time.perf_counter()
        _start(world, machine)
        world.settle()
        times.append((began[-1] - called) * 1000)
    times.sort()
    yield Figure("StartExecution to the first task, p50", times[len(times) // 2], "ms")
    yield Figure("StartExecution to the first task, p99", times[int(len(times) * 0.99)], "ms")


def _archive() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("code.py", "def handler(event, context): ...")
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
