"""The drivers: what an earlier process left under way, and how many transactions it takes to do what is due."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from typing import TypeVar

from redrive.core.clock import Instant, VirtualClock
from redrive.core.errors import Bug, Unavailable
from redrive.core.log import SilentLog
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.engine.driver import RealTime, VirtualDrive
from redrive.engine.engine import Claimed, Engine
from redrive.engine.workers import build_workers
from redrive.store.api import Step, Transaction
from redrive.store.tables.deliveries import OUTSIDE
from redrive.testing.world import World
from tests.unit.services.lambda_.functions import archive

T = TypeVar("T")

QUEUE = "arn:aws:sqs:us-east-1:000000000000:work"
TRUST = {
    "Version": "2012-10-17",
    "Statement": {
        "Effect": "Allow",
        "Principal": {"Service": ["lambda.amazonaws.com", "scheduler.amazonaws.com"]},
        "Action": "sts:AssumeRole",
    },
}
MAY_SEND = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": QUEUE}}


def test_event_that_was_running_when_its_server_died_runs_again_at_the_next_start() -> None:
    """A lease outlives the process that held it; its successor does not wait for the lease to end."""
    world = World()
    assert isinstance(world.clock, VirtualClock)
    ran: list[object] = []
    world.functions.register("work", lambda event, _: ran.append(event))
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    world.client("lambda").create_function(
        FunctionName="work", Role=role, Runtime="python3.12", Handler="app.handler", Code={"ZipFile": archive()}
    )
    world.client("lambda").invoke(FunctionName="work", InvocationType="Event", Payload=json.dumps({"n": 1}))
    world.store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=960_000, limit=1))
    drive = VirtualDrive(world.engine, world.clock, SilentLog(), keep=lambda tx, at: None)

    drive.advance_to(world.clock.now())

    assert ran == [{"n": 1}]


class Hanging:
    """An invoker whose function `bad` runs until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.hanging: list[str] = []
        self.answered = threading.Event()

    def invoke(self, invocation: Invocation) -> InvocationResult:
        if invocation.function_name == "bad":
            self.hanging.append(invocation.request_id)
            self.let_go.wait()
        else:
            self.answered.set()
        return InvocationResult(InvocationStatus.OK, payload=b"null")

    def close(self) -> None:
        self.let_go.set()


def test_function_that_hangs_keeps_no_other_functions_event_waiting() -> None:
    """A backlog of one function, as after a restart: more events than there are slots, all due before another's."""
    world = World()
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    for name in ("bad", "good"):
        world.client("lambda").create_function(
            FunctionName=name, Role=role, Runtime="python3.12", Handler="app.handler", Code={"ZipFile": archive()}
        )
    for _ in range(40):
        world.client("lambda").invoke(FunctionName="bad", InvocationType="Event", Payload=b"{}")
    world.client("lambda").invoke(FunctionName="good", InvocationType="Event", Payload=b"{}")
    invoker = Hanging()
    guard = threading.Lock()

    def run(step: Step[T]) -> T:
        with guard:
            return world.store.run(step)

    engine = Engine(run, world.engine.registry, build_workers(log=SilentLog()), invoker, SilentLog())
    driver = RealTime(engine, world.clock, SilentLog(), slots=16)
    driver.start()
    is_answered = invoker.answered.wait(timeout=60)
    hanging = len(invoker.hanging)
    invoker.let_go.set()
    driver.stop()

    assert is_answered
    assert hanging <= 8


class Away:
    """An invoker that counts its runs. After each, the store is away for the first step of its thread."""

    def __init__(self) -> None:
        self.runs = 0
        self.refused = 0
        self.settled = threading.Event()
        self._missing: set[int] = set()

    def invoke(self, invocation: Invocation) -> InvocationResult:
        self.runs += 1
        self._missing.add(threading.get_ident())
        return InvocationResult(InvocationStatus.OK, payload=b"null")

    def close(self) -> None:
        """Nothing to close."""

    def check(self) -> None:
        """Errors: Unavailable, once after each function that this thread ran."""
        if threading.get_ident() in self._missing:
            self._missing.discard(threading.get_ident())
            self.refused += 1
            raise Unavailable("The store is away.")
        if self.refused:
            self.settled.set()


def test_attempt_that_ended_while_the_store_was_away_is_settled_and_not_repeated() -> None:
    world = World()
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    world.client("lambda").create_function(
        FunctionName="work", Role=role, Runtime="python3.12", Handler="app.handler", Code={"ZipFile": archive()}
    )
    world.client("lambda").invoke(FunctionName="work", InvocationType="Event", Payload=b"{}")
    invoker = Away()
    guard = threading.Lock()

    def run(step: Step[T]) -> T:
        with guard:
            if threading.current_thread().name.startswith("redrive-attempt"):
                invoker.check()
            return world.store.run(step)

    engine = Engine(run, world.engine.registry, build_workers(log=SilentLog()), invoker, SilentLog())
    driver = RealTime(engine, world.clock, SilentLog(), slots=4)
    driver.start()
    invoker.settled.wait(timeout=60)
    driver.stop()
    left = world.store.run(lambda tx: tx.deliveries.next([OUTSIDE]))

    assert (invoker.runs, invoker.refused) == (1, 1)
    assert left is None


class Defective:
    """A worker that is due for ever, and whose claim always fails."""

    name = "defective"
    timer = None
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.now

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        raise ValueError("a defect")

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("nothing is attempted")


def due_world() -> World:
    """A schedule that is due, and may send to its queue."""
    world = World()
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    world.client("iam").put_role_policy(RoleName="work", PolicyName="send", PolicyDocument=json.dumps(MAY_SEND))
    world.client("sqs").create_queue(QueueName="work")
    world.client("scheduler").create_schedule(
        Name="work", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": QUEUE, "RoleArn": role},
    )  # fmt: skip
    return world


def transactions_until_sent(world: World, engine: Engine) -> int:
    """How many transactions an engine in real time begins until there is a message; fails if there never is."""
    begun: list[str] = []
    sent = threading.Event()

    def trace(statement: str) -> None:
        if "INSERT INTO messages" in statement:
            sent.set()
        elif statement.startswith("BEGIN") and not sent.is_set():
            begun.append(statement)

    world.store.connection.set_trace_callback(trace)
    driver = RealTime(engine, world.clock, SilentLog(), slots=1)
    driver.start()
    was_sent = sent.wait(timeout=60)
    driver.stop()
    assert was_sent
    return len(begun)


def test_due_schedule_reaches_its_queue_in_one_transaction() -> None:
    """To look, to promise and to deliver share one, after the one that takes over what an earlier process left."""
    world = due_world()

    begun = transactions_until_sent(world, world.engine)

    assert begun == 2


def test_defect_of_one_worker_holds_up_no_other_in_real_time() -> None:
    """What fails in a transaction with others is claimed again, each worker in a transaction of its own."""
    world = due_world()
    workers = [Defective(), *build_workers(log=SilentLog())]
    engine = Engine(world.store.run, world.engine.registry, workers, world.engine.invoker, SilentLog())

    begun = transactions_until_sent(world, engine)

    assert begun > 2


class Watched:
    """An invoker that counts its runs."""

    def __init__(self) -> None:
        self.ran = threading.Semaphore(0)

    def invoke(self, invocation: Invocation) -> InvocationResult:
        self.ran.release()
        return InvocationResult(InvocationStatus.OK, payload=b"null")

    def close(self) -> None:
        """Nothing to close."""


def joining(driver: RealTime) -> Step[object]:
    """The claim that joins a commit, as soon as the driver's own thread rests."""
    claim: Step[object] | None = None
    ends_at = time.monotonic() + 60
    while claim is None and time.monotonic() < ends_at:
        claim = driver.follow(frozenset({"due"}))
    assert claim is not None
    return claim


def test_work_that_a_step_makes_due_is_claimed_in_the_commit_of_the_step() -> None:
    """Whoever waits for the work awaits one disk, not two. After a claim that found nothing, none joins for 5 ms."""
    world = World()
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    world.client("lambda").create_function(
        FunctionName="work", Role=role, Runtime="python3.12", Handler="app.handler", Code={"ZipFile": archive()}
    )
    world.settle()
    invoker, guard = Watched(), threading.Lock()

    def run(step: Step[T]) -> T:
        with guard:
            return world.store.run(step)

    engine = Engine(run, world.engine.registry, build_workers(log=SilentLog()), invoker, SilentLog())
    driver = RealTime(engine, world.clock, SilentLog(), slots=4)
    before_it_starts = driver.follow(frozenset({"due"}))
    driver.start()
    claim, caller = joining(driver), world.caller()
    event = {"FunctionName": "work", "InvocationType": "Event", "Payload": b"{}"}

    def invoke_and_claim(tx: Transaction) -> object:
        engine.registry.begin(tx, caller, "lambda", "Invoke", event)
        return claim(tx)

    claimed = run(invoke_and_claim)
    driver.followed(claimed)
    has_run = invoker.ran.acquire(timeout=60)
    fruitless = run(joining(driver))
    driver.followed(fruitless)
    at_once = driver.follow(frozenset({"due"}))
    driver.stop()

    assert before_it_starts is None
    assert isinstance(claimed, Claimed)
    assert len(claimed.attempts) == 1
    assert has_run
    assert isinstance(fruitless, Claimed)
    assert (fruitless.attempts, at_once) == ((), None)
