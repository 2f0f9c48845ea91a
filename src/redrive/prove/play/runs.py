"""Runs the functions of a performance: each run in a new environment, with its beginning and its end as events."""

from __future__ import annotations

import re
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.invoke.runtime.context import LambdaContext
from redrive.invoke.runtime.handlers import Answer, error_answer, run_handler
from redrive.prove.play.behaviour import Behaviour, End
from redrive.prove.play.events import Delivered, Ended, Ending
from redrive.prove.play.running import Died, Run, given, handles_of, kind_of, payload_for, told
from redrive.prove.play.state import Endless, State
from redrive.prove.play.variables import run_variables
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.stage.tape import Known

_TRACED = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class Runs:
    """Runs the handler under proof, and the handlers of other functions."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._contexts: dict[str, dict[str, str]] = {}
        self.behaviour: Behaviour | None = None
        """What runs have done, by what they had observed; None while each run has its code."""

    def invoke(self, invocation: Invocation) -> InvocationResult:
        """Run a function's handler once, in a new environment. Functions without a handler do nothing."""
        state = self._state
        subject = state.subject_of(invocation.function_name)
        if subject is None:
            return InvocationResult(InvocationStatus.OK, b"null")
        if state.runs >= state.runs_max:
            raise Endless
        state.runs += 1
        run = self._begun(invocation, subject)
        run.environment = state.environments.take(invocation.function_name)
        idle = run.environment.idle
        if idle is not None:
            run.meet(state.stage.now, idle.told)
            state.files.put_back(run.number, idle.files)
        state.running.append(run)
        delivered = self._delivered(run, invocation)
        state.events.append(delivered if idle is None else replace(delivered, after=idle.run, remembers=idle.remembers))
        try:
            end = self._end_of(invocation, run)
        except (Died, SystemExit):
            run.death = run.death or Ending.DIED
            end = End(Answer(b""), "")
        except BaseExceptionGroup:  # Of a TaskGroup whose tasks have met what ends the run, or the leg.
            if run.death is None and not state.is_over and state.escape is None:
                raise
            end = End(Answer(b""), "")
        finally:
            state.running.pop()
            state.surroundings.move_to(state.stage.now)
            state.files.end(run.number)
            if state.sql.has(run.number) and state.escape is None:
                state.sql.end(run.number)
        if state.is_over:
            raise Known
        if state.escape is not None:
            raise state.escape
        return self._result(run, end)

    def _end_of(self, invocation: Invocation, run: Run) -> End:
        """Play a run to its end: without its code, if all of it is known."""
        state, behaviour = self._state, self.behaviour
        is_known = behaviour is not None and behaviour.is_the_same and isinstance(run.subject, NamedSubject)
        if behaviour is None or not is_known:
            return self._played(invocation, run)
        remembered = "" if run.environment.idle is None else run.environment.idle.told
        beginning = (invocation.function_arn, invocation.request_id, invocation.payload, run.deadline_at, remembered)
        run.course = behaviour.course((state.stage.now, *beginning), run, _Time(state))
        end = run.course.follow()
        if end is None or behaviour.is_tried() or not self._is_kept_again(run, end):
            state.stage.clock.set(run.course.began_at)
            end = self._played(invocation, run)
            if state.escape is None and run.death is None:
                run.course.ended(end)
        return end

    def _is_kept_again(self, run: Run, end: End) -> bool:
        """Whether the environment of a run that was played without its code is as its code would have left it."""
        if end.idle is None:
            return True
        running = [one.environment for one in self._state.running if one is not run]
        return self._state.environments.keep_again(end.idle, run.number, running)

    def _played(self, invocation: Invocation, run: Run) -> End:
        """Run the code to its end, and keep its environment if that remembers anything."""
        state = self._state
        state.surroundings.begin(f"run {invocation.request_id}", state.stage.now)
        with state.threads.begun() as loops:
            end = End(self._run(invocation, run), state.surroundings.said)
            if state.is_over or state.escape is not None or run.death is not None:
                return end
            files = state.files.contents(run.number) if state.environments.are_kept else {}
            idle = state.environments.give_back(
                run.environment, run.subject, invocation.function_name, run.number, files
            )
            loops.are_kept = idle is not None
            return replace(end, idle=idle)

    def _begun(self, invocation: Invocation, subject: Subject) -> Run:
        state = self._state
        deadline_at = state.stage.now + invocation.timeout_ms
        is_main = invocation.function_name == state.trigger.function_name
        kind = state.trigger.kind if is_main else kind_of(invocation)
        run = Run(state.runs, deadline_at, subject, invocation.function_name, kind)
        if kind.is_queue:
            run.handles = handles_of(invocation)
        else:
            run.invocation = invocation
        run.meet(state.stage.now, (invocation.request_id, invocation.payload))
        return run

    def _delivered(self, run: Run, invocation: Invocation) -> Delivered:
        return given(self._state.stage.now, run.number, invocation, run.kind)

    def _run(self, invocation: Invocation, run: Run) -> Answer:
        state = self._state
        run.environment.wake()
        context = LambdaContext(
            request_id=invocation.request_id,
            function_arn=invocation.function_arn,
            deadline_at=run.deadline_at,
            clock=state.stage.clock,
            environment=self._environment_of(invocation),
        )
        with state.surroundings.silenced():
            try:
                modules = run.environment.modules if state.environments.are_kept else None
                with run.subject.environment(modules) as handler:
                    asked = len(run.met) - 1 if run.course is None else run.course.made
                    state.environments.begin(run.environment, run.subject, asked=asked)
                    payload = payload_for(run.subject, invocation)
                    return run_handler(handler, payload, context, invocation.request_id)
            except Exception as error:  # noqa: BLE001 - the user's module may raise any exception.
                return error_answer(error, invocation.request_id)

    def _result(self, run: Run, end: End) -> InvocationResult:
        state, answer = self._state, end.answer
        if run.death is not None:
            state.events.append(Ended(state.stage.now, run.number, run.death, "", kind=run.kind))
            return InvocationResult(InvocationStatus.FUNCTION_ERROR, b'{"errorType":"Runtime.ExitError"}')
        failed = answer.error_type is not None
        state.failed_at = _own_lines(answer, run.subject) if failed else ()
        ending = Ending.FAILED if failed else Ending.RETURNED
        said = end.said.rstrip().rpartition("\n")[2]
        state.events.append(Ended(state.stage.now, run.number, ending, told(answer), said, run.kind))
        status = InvocationStatus.FUNCTION_ERROR if failed else InvocationStatus.OK
        return InvocationResult(status, answer.payload)

    def _environment_of(self, invocation: Invocation) -> dict[str, str]:
        if invocation.function_arn not in self._contexts:
            self._contexts[invocation.function_arn] = run_variables(self._state.stage, invocation)
        return self._contexts[invocation.function_arn]


class _Time:
    """The time of the stage, and of the code that runs on it."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def now(self) -> Instant:
        return self._state.stage.now

    def set(self, instant: Instant) -> None:
        self._state.stage.clock.set(instant)
        self._state.surroundings.move_to(instant)


def _own_lines(answer: Answer, subject: Subject) -> tuple[str, ...]:
    """The lines of the user's code in the traceback of an answer, innermost last."""
    lines = map(_TRACED.search, map(str, load_json(answer.payload).get("stackTrace") or ()))
    places = [subject.told_line(found["file"], int(found["line"])) for found in lines if found is not None]
    return tuple(place for place in places if place)
