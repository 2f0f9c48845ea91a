"""A state machine: users start executions, a function fails at times, and somebody returns tokens, late or never."""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.happenings import ExecutionRead, MachineSent, TokenReturned
from redrive.sim.checkers.machines import ITEMS, MachinesExact
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.acts import Handle
from redrive.sim.users.functions import HandlerFailed, HandlerRun
from redrive.sim.users.resources import Resources, arn_of
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

MACHINE = "orders-machine"
SENT, TOKENS = "machine-sent", "machine-tokens"
FUNCTION = "machine-step"
TOKEN_S = 1_800
FAILING_SHARE = 0.45
_GAP_MS_MAX = 12 * MINUTE_MS
_PAGE = 1_000
INPUT = dump_json({"items": list(range(ITEMS))})


def open_machines(resources: Resources, dice: Dice) -> None:
    """Create the machine, what it calls, and its users."""
    simulation, call = resources.simulation, resources.simulation.reliable.call
    sent, tokens = resources.queue(SENT), resources.queue(TOKENS)
    failing = dice.between(0, 1 << 30)
    resources.function(FUNCTION, lambda run: _step(run, Dice(resources.entropy.fork(f"{failing}/{run.request_id}"))))
    made = call(
        "stepfunctions", "CreateStateMachine", name=MACHINE, roleArn=resources.role_arn,
        definition=dump_json(_definition(sent, tokens)),
    )  # fmt: skip
    simulation.watch(MachinesExact(SENT))
    resources.consumer(f"reader of {SENT}", sent, _reader(simulation))
    resources.consumer(f"reader of {TOKENS}", tokens, _returner(simulation, simulation.client("returner")))
    starter = Starter(
        simulation, simulation.client("starter"), str(made["stateMachineArn"]), dice=resources.fork("starter"),
        until=resources.until,
    )  # fmt: skip
    simulation.add(starter, at=simulation.now + SECOND_MS)


def executions_read(simulation: Simulation) -> Iterator[ExecutionRead]:
    """At the end: all executions with their histories."""
    call = simulation.reliable.call
    machine = arn_of("states", f"stateMachine:{MACHINE}")
    params: Document = {"stateMachineArn": machine, "maxResults": _PAGE}
    for one in call("stepfunctions", "ListExecutions", **params)["executions"]:
        arn = one["executionArn"]
        events = call("stepfunctions", "GetExecutionHistory", executionArn=arn, maxResults=_PAGE)["events"]
        yield ExecutionRead(one["name"], one["status"], _named(events))


class Starter:
    """Starts executions. A start whose answer is lost is made again under its name."""

    def __init__(self, simulation: Simulation, client: Client, machine: str, *, dice: Dice, until: Instant) -> None:
        """`machine` by ARN."""
        self.name = "starter"
        self._simulation = simulation
        self._client = client
        self._machine = machine
        self._dice = dice
        self._until = until
        self._count = 0

    def act(self) -> Instant | None:
        """Start an execution, perhaps twice."""
        simulation = self._simulation
        if simulation.now >= self._until:
            return None
        self._count += 1
        name = f"order-{self._count}"
        for _ in range(2):
            try:
                self._client.call(
                    "stepfunctions", "StartExecution", stateMachineArn=self._machine, name=name, input=INPUT
                )
                break
            except (Conflict, AnswerLost, ServiceError) as error:
                simulation.trace.write(simulation.now, "start in doubt", name=name, error=type(error).__name__)
        return simulation.now + self._dice.between(1, _GAP_MS_MAX)


def _step(run: HandlerRun, dice: Dice) -> Document:
    if dice.chance(FAILING_SHARE):
        raise HandlerFailed(f"no luck with {run.event['name']}")
    return {"done": True}


def _reader(simulation: Simulation) -> Handle:
    def handle(message: Document) -> None:
        body = load_json(message["Body"])
        if "name" in body:
            simulation.observe(MachineSent(body["name"], body["step"], message["MessageId"]))

    return handle


def _returner(simulation: Simulation, client: Client) -> Handle:
    """Returns the token of a message. What is refused is over: the message may be deleted."""

    def handle(message: Document) -> None:
        body = load_json(message["Body"])
        if "token" not in body:
            return
        try:
            client.call_seen(
                lambda _: simulation.observe(TokenReturned(body["name"])),
                "stepfunctions", "SendTaskSuccess", taskToken=body["token"], output="{}",
            )  # fmt: skip
        except ServiceError as error:
            simulation.trace.write(simulation.now, "token refused", name=body["name"], code=error.code)

    return handle


def _definition(sent: str, tokens: str) -> Document:
    function = arn_of("lambda", f"function:{FUNCTION}")
    name = {"name.$": "$$.Execution.Name"}
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 20, "MaxAttempts": 3, "BackoffRate": 2.0}]
    send = "arn:aws:states:::sqs:sendMessage"
    each = {
        "Type": "Task", "Resource": send, "End": True,
        "Parameters": {"QueueUrl": sent, "MessageBody": {**name, "step": "Each"}},
    }  # fmt: skip
    return {
        "StartAt": "Work",
        "States": {
            "Work": {
                "Type": "Task", "Resource": function, "Parameters": name, "Retry": retry, "ResultPath": None,
                "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}], "Next": "Send",
            },
            "Caught": {"Type": "Succeed"},
            "Send": {
                "Type": "Task", "Resource": send, "ResultPath": None, "Next": "Ask",
                "Parameters": {"QueueUrl": sent, "MessageBody": {**name, "step": "Send"}},
            },
            "Ask": {
                "Type": "Task", "Resource": f"{send}.waitForTaskToken", "TimeoutSeconds": TOKEN_S, "ResultPath": None,
                "Parameters": {"QueueUrl": tokens, "MessageBody": {**name, "token.$": "$$.Task.Token"}},
                "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}], "Next": "Pause",
            },
            "Late": {"Type": "Fail", "Error": "Late"},
            "Pause": {"Type": "Wait", "Seconds": 90, "Next": "Several"},
            "Several": {
                "Type": "Map", "MaxConcurrency": 2, "End": True, "ItemsPath": "$$.Execution.Input.items",
                "ItemProcessor": {"StartAt": "Each", "States": {"Each": each}},
            },
        },
    }  # fmt: skip


def _named(events: list[Document]) -> tuple[tuple[str, str], ...]:
    """Each event's type, with the name of the state in which it happened, followed by its causes."""
    states: dict[int, str] = {}
    found: list[tuple[str, str]] = []
    for event in events:
        entered = event.get("stateEnteredEventDetails") or event.get("stateExitedEventDetails") or {}
        name = entered.get("name") or states.get(event["previousEventId"], "")
        states[event["id"]] = name
        found.append((event["type"], name))
    return tuple(found)
