"""The rules. Each looks at one state, or at one branch, and yields what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from redrive.languages.states.definition import Branch, Choice, StateMachine, Task
from redrive.languages.states.expressions import Expression
from redrive.languages.states.graph import all_branches, all_states, ends, reachable
from redrive.languages.states.intrinsics import Call
from redrive.languages.states.lint.effects import Effects, effects_of
from redrive.languages.states.lint.findings import Finding, Level
from redrive.languages.states.retries import matches
from redrive.languages.states.templates import Literal, Located, Template, walk

AFTER_DOING: Final = ("States.Timeout", "States.TaskFailed", "Lambda.Unknown", "Sandbox.Timedout")
"""Errors after which the work of a task may have been done."""
EXECUTION_NAMES: Final = ("$$.Execution.Id", "$$.Execution.Name", "$$.Task.Token")
EXECUTION_EXPRESSIONS: Final = ("context.Execution.Id", "context.Execution.Name", "context.Task.Token")


def lint(machine: StateMachine) -> list[Finding]:
    """All findings, in the order of the definition."""
    findings = [found for place, branch in all_branches(machine) for found in _of_branch(place, branch)]
    catching = tuple(f"{place}/" for place, state in all_states(machine) if state.catch)
    for place, state in all_states(machine):
        if isinstance(state, Task):
            findings.extend(_of_task(place, state, is_caught=bool(state.catch) or place.startswith(catching)))
        if isinstance(state, Choice):
            findings.extend(_of_choice(place, state))
    return findings


def _of_branch(place: str, branch: Branch) -> Iterator[Finding]:
    """A state that nothing leads to, and a state from which no end can be reached."""
    reached = reachable(branch.start_at, branch.states)
    for name in branch.states:
        if name not in reached:
            yield Finding(
                "unreachable-state",
                Level.WARNING,
                f"{place}/States/{name}",
                f"No transition leads to the state {name}.",
                "Remove the state, or name it in a Next, a Default or a Catch.",
            )
    ending = ends(branch)
    for name in branch.states:
        if name in reached and name not in ending:
            yield Finding(
                "endless-loop",
                Level.ERROR,
                f"{place}/States/{name}",
                f"From the state {name} no end can be reached: the execution goes on until its timeout or its "
                "25,000 events.",
                "Give the loop a Choice with a way out.",
            )


def _of_task(place: str, task: Task, *, is_caught: bool) -> Iterator[Finding]:
    """`is_caught`: the task has a Catch, or a Map or a Parallel around it has one."""
    effects = effects_of(task.resource)
    if effects is not Effects.NONE and not is_caught:
        yield Finding(
            "missing-catch",
            Level.WARNING,
            place,
            f"The task {task.name} may run more than once and may fail after it has done its work; nothing catches "
            "its error, so the whole execution fails.",
            'Add a Catch for "States.ALL" that leads to a state which repairs, tells or parks the work.',
        )
    if effects is Effects.UNKEYED and _retries_after_doing(task) and not has_key(task):
        yield Finding(
            "retry-without-key",
            Level.WARNING,
            place,
            f"The task {task.name} is retried after errors that can follow its effect, and its parameters carry no "
            "key: a retry does the work a second time.",
            _remedy(task.resource),
        )
    if _waits_for_others(task.resource) and task.timeout is None and task.heartbeat is None:
        yield Finding(
            "wait-without-timeout",
            Level.WARNING,
            place,
            f"The task {task.name} waits for somebody else's answer; if it never comes, the execution waits for a "
            "year.",
            "Set TimeoutSeconds, or HeartbeatSeconds.",
        )


def _of_choice(place: str, choice: Choice) -> Iterator[Finding]:
    if choice.default is None:
        yield Finding(
            "choice-without-default",
            Level.ADVICE,
            place,
            f"If no rule of {choice.name} matches, the execution fails with States.NoChoiceMatched.",
            "Add a Default, if only a Fail state that says which value was not expected.",
        )


def _retries_after_doing(task: Task) -> bool:
    return any(
        retrier.attempts_max > 0 and any(matches(retrier.errors, error) for error in AFTER_DOING)
        for retrier in task.retry
    )


def has_key(task: Task) -> bool:
    """Whether the parameters carry a key by which the work is recognized: the execution's, or one that AWS reads."""
    for template in walk(task.parameters):
        if _names_execution(template):
            return True
    return any(name in _KEYS for name in member_names(task.parameters))


def member_names(template: Template | None) -> Iterator[str]:
    """The names of all members in a template."""
    for part in walk(template):
        members = getattr(part, "members", None)
        if isinstance(members, tuple):
            yield from (name for name, _ in members)
        if isinstance(part, Literal):
            yield from _literal_names(part.content)


def _literal_names(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield str(name)
            yield from _literal_names(one)
    elif isinstance(value, list):
        for one in value:
            yield from _literal_names(one)


def _names_execution(template: Template) -> bool:
    match template:
        case Located(path=path):
            return path.text.startswith(EXECUTION_NAMES) or path.text in {"$$", "$$.Execution"}
        case Call():
            return any(path.text.startswith(EXECUTION_NAMES) for path in template.paths())
        case Expression(text=text):
            return any(name in text for name in EXECUTION_EXPRESSIONS)
        case _:
            return False


_KEYS: Final = frozenset(
    {"ClientRequestToken", "ClientToken", "ConditionExpression", "IdempotencyToken", "MessageDeduplicationId", "Name"}
)


def _waits_for_others(resource: str) -> bool:
    return resource.endswith(".waitForTaskToken") or ":activity:" in resource


def _remedy(resource: str) -> str:
    if "lambda" in resource:
        return (
            "Pass $$.Execution.Id (JSONata: $states.context.Execution.Id) to the function, and make it the key of its "
            "work."
        )
    if "sqs" in resource or "sns" in resource:
        return "Send to a FIFO queue or topic with a MessageDeduplicationId made of $$.Execution.Id."
    if "startExecution" in resource:
        return "Give the execution a Name made of $$.Execution.Name: a second start then answers with the first."
    return "Pass a token made of $$.Execution.Id, or retry only errors that come before the effect."
