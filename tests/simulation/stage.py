"""A small stage for scenarios: two nodes whose beats the test calls one by one, in weather that it scripts."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import HOUR_MS, MINUTE_MS, format_instant
from redrive.core.documents import Document, load_json
from redrive.core.entropy import SeededEntropy
from redrive.delivery.outside.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.sim.checkers.happenings import Accepted, Happening, LeftMessage, Occurred, Tried
from redrive.sim.fleet.nodes import Node
from redrive.sim.users.acts import drain, event, event_handler
from redrive.sim.users.functions import HandlerRun
from redrive.sim.users.workload import Workload
from redrive.sim.weather import Hazard, Weather
from redrive.sim.world import Simulation
from redrive.wire.model.files import Models

LEASE_MINUTES = 17
"""Longer than any lease."""

DAY_MS = 24 * HOUR_MS


class ScriptedWeather(Weather):
    """Calm, but for faults that are told to strike at a certain occasion."""

    def __init__(self) -> None:
        super().__init__(SeededEntropy("stage"), {})
        self._due_in: dict[Hazard, int] = {}
        self._crowd = 0

    def crowd(self, count: int) -> None:
        """Let so many others go on while an answer is awaited."""
        self._crowd = count

    def crowds(self) -> bool:
        self._crowd -= 1
        return self._crowd >= 0

    def expect(self, fault: Hazard, *, after: int = 0) -> None:
        """Let the fault strike once, after so many occasions on which it does not."""
        self._due_in[fault] = after

    def strikes(self, fault: Hazard) -> bool:
        left = self._due_in.pop(fault, None)
        if left:
            self._due_in[fault] = left - 1
        return left == 0


class Stage:
    """A fleet that stands still until it is told otherwise, and a workload with what the scenario needs."""

    def __init__(self, models: Models, *, slots: int = 1) -> None:
        self.weather = ScriptedWeather()
        self.simulation = Simulation(seed=0, weather=self.weather, nodes=2, slots=slots, models=models)
        self.first, self.second = self.simulation.nodes
        self.until = self.simulation.now + DAY_MS
        self.workload = Workload(self.simulation, SeededEntropy("town"), until=self.until)
        self.runs: list[str] = []
        self.occurred: list[str] = []
        self.simulation.watch(self)

    def observe(self, happening: Happening) -> None:
        """Keep the occurrences of schedules that were seen."""
        if isinstance(happening, Occurred):
            self.occurred.append(happening.scheduled_at)

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to judge: the checkers do."""

    def passes(self, *, minutes: float) -> None:
        """Let time pass; running nodes do what is due."""
        self.simulation.run_until(self.simulation.now + round(minutes * MINUTE_MS))

    def has_function(self, name: str = "notify") -> None:
        """A function for events, with a dead-letter queue, that fails at what is poisoned."""
        handler = event_handler(self.simulation)

        def tell(run: HandlerRun) -> Document | None:
            self.runs.append(run.event["key"])
            return handler(run)

        self.workload.queue(f"{name}-dlq")
        self.workload.function(name, tell, dead_letters=f"{name}-dlq")

    def event(self, key: str, function: str = "notify") -> None:
        """An event is accepted for a function."""
        self.simulation.observe(Tried(key, self.simulation.now))
        self.simulation.reliable.call(
            "lambda", "Invoke", FunctionName=function, InvocationType="Event", Payload=event(key).encode()
        )
        self.simulation.observe(Accepted(key))

    def message(self, key: str, url: str, **more: str) -> None:
        """A message is accepted by a queue."""
        self.simulation.observe(Tried(key, self.simulation.now))
        self.simulation.reliable.call("sqs", "SendMessage", QueueUrl=url, MessageBody=event(key), **more)
        self.simulation.observe(Accepted(key))

    def claims(self, node: Node) -> Attempt:
        """The node claims, and gets one attempt."""
        (attempt,) = self.simulation.beats.claim(node).attempts
        return attempt

    def runs_and_settles(self, node: Node, attempt: Attempt) -> InvocationResult:
        """The node does the other two beats, undisturbed, and has its slot back."""
        result = self.simulation.beats.perform(node, attempt)
        assert isinstance(result, InvocationResult)
        self.simulation.beats.settle(node, attempt, result)
        node.release(attempt)
        return result

    def keys_of(self, attempt: Attempt) -> list[str]:
        """The work in a batch."""
        return [load_json(record["body"])["key"] for record in load_json(attempt.invocation.payload)["Records"]]

    def verdicts(self, attempt: Attempt) -> list[str]:
        """What the history says of the attempts of this delivery."""
        return [record.verdict for record in self.simulation.records(attempt)]

    def keys_in(self, url: str) -> list[str]:
        """The work that a queue holds. Its messages are hidden from then on."""
        return [load_json(message.body)["key"] for message in drain(self.simulation, url)]

    def ends(self) -> None:
        """Both nodes start anew and finish what there is to do; then every checker agrees."""
        for node in self.simulation.nodes:
            self.simulation.crash(node, for_ms=1)
        self.simulation.start()
        self.workload.finish()

    def instant(self, *, minutes: float) -> str:
        """The time so long after now, as schedules write it."""
        return format_instant(self.simulation.now + round(minutes * MINUTE_MS))
