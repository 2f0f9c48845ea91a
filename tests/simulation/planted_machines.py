"""Defects to plant in what executions of state machines do."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from redrive.core.documents import dump_json
from redrive.languages.states.retries import Caught, RetryAfter
from redrive.services.stepfunctions import calling, running, source
from redrive.services.stepfunctions.model import leaving, tasks, transitions
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.sim.checkers.machines import MachinesExact
from redrive.store.api import Transaction
from tests.simulation.planted import Plant


def making_a_transition_twice() -> AbstractContextManager[object]:
    """A message is sent in one transaction, and the transition that sends it is made again in the next."""
    original = vars(running)["advance"]

    def advance(progress: Any, *, limit: int) -> int:
        left: int = original(progress, limit=limit)
        for wish in list(progress.wishes):
            if progress.position.frames[wish.frame].state == "Send" and not progress.position.redrives:
                progress.position.redrives = 1
                progress.wishes.append(wish)
        return left

    def grant(tx: Transaction, live: Any, wish: Any) -> None:
        frame = live.progress.position.frames[wish.frame]
        if frame.task != wish.task:
            again = vars(calling)["role_caller"](tx, live)
            body = {"QueueUrl": wish.parameters["QueueUrl"], "MessageBody": dump_json(wish.parameters["MessageBody"])}
            tx.services.call(tx, again, "sqs", "SendMessage", body)
            return
        granted(tx, live, wish)

    granted = vars(running)["grant"]
    stack = ExitStack()
    stack.enter_context(patch.object(running, "advance", advance))
    stack.enter_context(patch.object(running, "grant", grant))
    return stack


def forgetting_a_retry() -> AbstractContextManager[object]:
    """A retry of a function is not counted."""
    original = vars(leaving)["decide"]

    def decide(state: Any, error: Any, counts: Mapping[int, int], entropy: Any) -> Any:
        return original(state, error, {index: count - 1 for index, count in counts.items()}, entropy)

    return patch.object(leaving, "decide", decide)


def giving_up_before_the_retries_are_used_up() -> AbstractContextManager[object]:
    """The last retry is not made."""
    original = vars(leaving)["decide"]

    def decide(state: Any, error: Any, counts: Mapping[int, int], entropy: Any) -> Any:
        decided = original(state, error, counts, entropy)
        is_last = isinstance(decided, RetryAfter) and counts.get(0, 0) == 2
        return Caught(state.catch[0]) if is_last else decided

    return patch.object(leaving, "decide", decide)


def catching_after_a_success() -> AbstractContextManager[object]:
    """The success of a function goes to the catcher, now and then."""
    original = tasks.succeeded

    def succeeded(progress: Any, frame: Frame, value: object) -> None:
        state = progress.state(frame)
        if frame.state != "Work" or frame.task % 2:
            original(progress, frame, value)
            return
        progress.tell(frame, "LambdaFunctionSucceeded", {"output": "{}"})
        leaving.enter_next(progress, frame, state.catch[0].next, frame.input)

    stack = ExitStack()
    stack.enter_context(patch.object(tasks, "succeeded", succeeded))
    return stack


def losing_a_token() -> AbstractContextManager[object]:
    """The return of a token is answered, and changes nothing."""
    from redrive.services.stepfunctions.operations import tokens  # noqa: PLC0415 - registered when first used.

    return patch.object(tokens, "go_on", lambda *_: None)


def losing_the_answer_of_a_function() -> AbstractContextManager[object]:
    """The answer of a function is settled, and the execution does not hear of it."""
    return patch.object(source, "go_on", lambda *_: None)


def taking_a_wait_for_over_without_going_on() -> AbstractContextManager[object]:
    """A retry that is due is forgotten."""
    original = transitions.look_at_clock

    def look_at_clock(progress: Any) -> None:
        for frame in progress.position.frames.values():
            if frame.mode is Mode.RETRY:
                frame.wake_at = None
        original(progress)

    from redrive.services.stepfunctions.workers import executions  # noqa: PLC0415 - beside its use.

    return patch.object(executions, "look_at_clock", look_at_clock)


QUIET = "in good weather everything comes to its end"

MACHINE_PLANTS: Mapping[Plant, tuple[str, ...]] = {
    making_a_transition_twice: (MachinesExact.rule,),
    forgetting_a_retry: (MachinesExact.retry_rule,),
    giving_up_before_the_retries_are_used_up: (MachinesExact.retry_rule,),
    catching_after_a_success: (MachinesExact.catch_rule,),
    losing_a_token: (MachinesExact.token_rule,),
    losing_the_answer_of_a_function: (MachinesExact.end_rule, QUIET),
    taking_a_wait_for_over_without_going_on: (MachinesExact.end_rule, QUIET),
}
"""Each defect, and the rules of which it breaks one."""
