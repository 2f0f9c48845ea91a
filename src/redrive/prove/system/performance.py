"""Plays one leg of a system's history: every function of it runs whenever the engine invokes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

from redrive.core.documents import load_json
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.invoke.runtime.handlers import Answer
from redrive.languages.event_pattern import matches
from redrive.prove.calls.given import Given
from redrive.prove.play.behaviour import End
from redrive.prove.play.events import Delivered
from redrive.prove.play.performance import Performance
from redrive.prove.play.running import Run, given, kind_of
from redrive.prove.play.runs import Runs
from redrive.prove.play.state import State
from redrive.prove.play.variables import variables_of
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.process.surroundings import variables
from redrive.prove.stage.trigger import Kind, Trigger
from redrive.prove.system.entrances import Way
from redrive.prove.system.messages import Circuit, SystemMessages, SystemRun

_SERVER_ERROR = 500
_CALLER = "its caller"
_ANOTHER = "an invocation by another function"


class SystemPerformance(Performance):
    """The functions of a system, its entrance, and a stage for them."""

    def __init__(self, circuit: Circuit, *, seed: int, given: Given, is_warm: bool = False) -> None:
        self._circuit = circuit
        parts = circuit.wiring.parts.taking_part
        first = parts[circuit.entrance.functions[0]].subject
        others = {name: part.subject for name, part in parts.items()}
        super().__init__(first, seed=seed, given=given, others=others, is_warm=is_warm)

    def begin(self, trigger: Trigger) -> None:
        super().begin(trigger)
        self.journal.sorting = replace(self.journal.sorting, is_passage=self._circuit.wiring.is_passage)
        self._state.goes_on = self._circuit.wiring.goes_on

    def invoke(self, invocation: Invocation) -> InvocationResult:
        """Run a function's handler once. A function that another one waits for runs inside of that one's call."""
        if not self.running or self._boundary.is_handlers:
            return super().invoke(invocation)
        answered: list[InvocationResult] = []
        self._boundary.beside(lambda: answered.append(self._runs.invoke(invocation)))
        return answered[0]

    def _runs_of(self, state: State) -> Runs:
        return SystemRuns(state, self._circuit)

    def _messages_of(self, trigger: Trigger) -> SystemMessages:
        return SystemMessages(self.stage, trigger, self._circuit, self.running)

    def _variables(self) -> Mapping[str, str]:
        """Those that all functions have; each has its own while it runs."""
        return variables_of(self._circuit.entrance.functions[0], {})


class SystemRuns(Runs):
    """Runs the functions of a system, each with its own environment variables and modules."""

    def __init__(self, state: State, circuit: Circuit) -> None:
        super().__init__(state)
        self._circuit = circuit

    def _begun(self, invocation: Invocation, subject: Subject) -> SystemRun:
        state = self._state
        kind, through = self._way_of(invocation)
        run = SystemRun(
            state.runs, state.stage.now + invocation.timeout_ms, subject, invocation.function_name, kind,
            payload=invocation.payload, through=through,
        )  # fmt: skip
        if kind is Kind.SQS:
            records = load_json(invocation.payload)["Records"]
            run.handles = tuple(f"{one['eventSourceARN']} {one['receiptHandle']}" for one in records)
        else:
            run.invocation = invocation
            if isinstance(state.messages, SystemMessages):
                state.messages.has_run(invocation)
        run.meet(state.stage.now, (invocation.function_name, invocation.request_id, invocation.payload))
        return run

    def _delivered(self, run: Run, invocation: Invocation) -> Delivered:
        through = run.through if isinstance(run, SystemRun) else ""
        name = self._circuit.wiring.parts[invocation.function_name].name
        told = given(self._state.stage.now, run.number, invocation, run.kind)
        may_repeat, may_double = self._repeats(run, invocation)
        return replace(told, function=name, through=through, may_repeat=may_repeat, may_double=may_double)

    def _repeats(self, run: Run, invocation: Invocation) -> tuple[bool, bool]:
        """Whether the same may be given to a second run, and whether its hop may deliver it under another id."""
        if run.kind.is_stream:
            return True, False
        if run.kind is not Kind.SQS:
            return True, isinstance(run, SystemRun) and run.through not in (_CALLER, _ANOTHER, self._schedule)
        arn = str(load_json(invocation.payload)["Records"][0]["eventSourceARN"])
        return not arn.endswith(".fifo"), arn in self._circuit.wiring.doubled and not arn.endswith(".fifo")

    @property
    def _schedule(self) -> str:
        return self._circuit.entrance.told if self._circuit.entrance.way is Way.SCHEDULE else ""

    def _run(self, invocation: Invocation, run: Run) -> Answer:
        part = self._circuit.wiring.parts[invocation.function_name]
        with ExitStack() as stack:
            stack.enter_context(variables(variables_of(invocation.function_name, part.environment), part.variables))
            for outer in self._state.running[:-1]:
                if outer.subject is not run.subject and isinstance(outer.subject, NamedSubject):
                    stack.enter_context(outer.subject.hidden())
            return super()._run(invocation, run)

    def _result(self, run: Run, end: End) -> InvocationResult:
        """A caller of an API who is told of an error of the server knows that the work is not done."""
        result = super()._result(run, end)
        is_api = self._circuit.entrance.way is Way.API and run.function_name in self._circuit.entrance.functions
        if is_api and _status(end.answer) >= _SERVER_ERROR:
            return InvocationResult(InvocationStatus.FUNCTION_ERROR, end.answer.payload)
        return result

    def _way_of(self, invocation: Invocation) -> tuple[Kind, str]:
        """What has fed a run, and by which way, for the user."""
        names, event = self._circuit.names, load_json(invocation.payload)
        kind = kind_of(invocation)
        records = event.get("Records") if isinstance(event, dict) else None
        first = records[0] if isinstance(records, list) and records and isinstance(records[0], dict) else {}
        if kind is Kind.SQS and "receiptHandle" in first:
            return kind, f"the queue {names[str(first['eventSourceARN'])]}"
        if kind.is_stream and "eventSourceARN" in first:
            source = str(first["eventSourceARN"])
            return kind, f"the stream {names[source.split('/')[1]]}"
        if "Sns" in first:
            return kind, f"the topic {names[str(first['Sns']['TopicArn'])]}"
        if "s3" in first:
            return Kind.S3, f"the bucket {names[str(first['s3']['bucket']['name'])]}"
        if isinstance(event, dict) and event.keys() >= {"detail-type", "source"}:
            return Kind.EVENTBRIDGE, ", ".join(self._rules(invocation.function_arn, event)) or "the bus"
        is_made_up = kind is Kind.SQS or kind.is_stream
        return Kind.LAMBDA if is_made_up else kind, self._direct(invocation.function_name)

    def _rules(self, function_arn: str, event: Mapping[str, object]) -> Iterator[str]:
        for rule in self._circuit.wiring.rules:
            is_target = any(str(one["Arn"]).startswith(function_arn) for one in rule.targets)
            pattern = rule.pattern
            if is_target and pattern is not None and matches(pattern, dict(event)):
                yield f"the rule {self._circuit.names.of_rule(rule)}"

    def _direct(self, function_name: str) -> str:
        entrance = self._circuit.entrance
        if function_name in entrance.functions and entrance.way in (Way.API, Way.FUNCTION, Way.SCHEDULE):
            return self._schedule or _CALLER
        return _ANOTHER


def _status(answer: Answer) -> int:
    try:
        document = json.loads(answer.payload)
        return int(document.get("statusCode", 0)) if isinstance(document, dict) else 0
    except (TypeError, ValueError):
        return 0
