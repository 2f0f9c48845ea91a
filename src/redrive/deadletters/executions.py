"""Executions of state machines: a letter starts one, or one that has failed goes on where it failed.

The request of a schedule may name its execution. A standard workflow takes a name once in 90 days, so that name says
what became of the work:

    no execution            StartExecution, under the same name
    RUNNING, SUCCEEDED      nothing: the work is being done, or is done
    failed, REDRIVABLE      RedriveExecution: it goes on at the step that failed
    failed otherwise        refused: the name is taken

A letter may be the event that tells of a failed execution. That execution goes on (RedriveExecution), with its own
input and under the definition with which it began; or another one starts from the beginning, if the plan sends the
letter to `stateMachine:ARN`.

Other letters start an execution under a name of their own, made of the message id: so a second request of ours starts
none. Express workflows keep no executions that can be asked for.

Sources: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html;
https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html;
https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from redrive.core.clock import DAY_MS, SECOND_MS, Instant
from redrive.core.documents import load_json
from redrive.deadletters.causes import Class, judge
from redrive.deadletters.destinations import Destination, To, member_of
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.letter import Letter, Origin, execution_id
from redrive.deadletters.outcomes import Accepted, Parcel, Refused
from redrive.deadletters.sources import Client
from redrive.handler.failures import Kind

REDRIVABLE = "REDRIVABLE"
BY_MAP_RUN = "REDRIVABLE_BY_MAP_RUN"

REDRIVABLE_MS = 14 * DAY_MS
"""How long after its end an execution can be redriven."""

_OF_TIME = re.compile(r"[-_:](?:1\d{9}|1\d{12})$")
"""A name that ends with the seconds or milliseconds since 1970, such as `retry-1735689600`."""

_ANEW = "to start another one: `to` stateMachine:ARN"

_UNKNOWN = frozenset({"ExecutionDoesNotExist", "InvalidArn"})
"""No execution has the name; or the workflow is an express one, whose executions cannot be asked for."""


def finding_of(client: Client, letter: Letter, to: Destination) -> Finding | None:
    """What the execution that a letter names says; None for a letter that names none. Errors: ClientError."""
    if letter.origin is Origin.EXECUTION:
        return _of_failure(client, letter, to)
    machine_arn = to.name
    name = _given_name(letter)
    if not name:
        return None
    told = _described(client("stepfunctions"), _execution_arn(machine_arn, name))
    match told.get("status"):
        case None:
            return Finding("execution", Answer.GO, "no execution of its name exists", name)
        case "SUCCEEDED":
            return Finding("execution", Answer.SKIP, "its execution has succeeded", name)
        case "RUNNING" | "PENDING_REDRIVE":
            return Finding("execution", Answer.SKIP, "its execution is running", name)
    if told.get("redriveStatus") == REDRIVABLE:
        reason = "its execution has failed, and goes on at the step that failed"
        return Finding("execution", Answer.GO, reason, f"{name}: {told['status']}")
    reason = "its execution has failed and cannot be redriven, and its name is taken"
    return Finding("execution", Answer.REFUSE, reason, f"{name}: {told.get('redriveStatusReason', '')}")


def _of_failure(client: Client, letter: Letter, to: Destination) -> Finding:
    """Whether the execution that failed can go on now, and until when; or whether another one may start."""
    arn = letter.work.target_arn
    told = _described(client("stepfunctions"), arn)
    match told.get("status"):
        case "SUCCEEDED":
            return Finding("execution", Answer.SKIP, "it has succeeded since", arn)
        case "RUNNING" | "PENDING_REDRIVE":
            return Finding("execution", Answer.SKIP, "it is running again", arn)
    if to.kind is not To.EXECUTION and _OF_TIME.search(arn):
        reason = "its name is made of the time: two starts of one piece of work are two executions, and both do it"
        return Finding("execution", Answer.CAUTION, reason, arn)
    if to.kind is not To.EXECUTION:
        reason = "another execution starts from the beginning: what the failed one has done is done again"
        return Finding("execution", Answer.CAUTION, reason, arn)
    match told.get("redriveStatus"):
        case None:
            return Finding("execution", Answer.REFUSE, f"Step Functions does not know it any more; {_ANEW}", arn)
        case found if found == REDRIVABLE:
            until = instant_of(told.get("stopDate"))
            until = None if until is None else until + REDRIVABLE_MS
            if judge(letter.failure, letter.origin).kind is Class.DEFINITION:
                reason = f"it keeps the definition that failed; {_ANEW}"
                return Finding("execution", Answer.CAUTION, reason, arn, until)
            reason = "it goes on at the step that failed"
            if _OF_TIME.search(arn):
                reason += "; its name is made of the time: another start of the same work is another execution"
                return Finding("execution", Answer.CAUTION, reason, arn, until)
            return Finding("execution", Answer.GO, reason, arn, until)
        case found if found == BY_MAP_RUN:
            reason = "it is a child of a Map Run: redrive the execution that has the Map Run"
            return Finding("execution", Answer.REFUSE, reason, str(told.get("mapRunArn", arn)))
    why = str(told.get("redriveStatusReason") or "it cannot be redriven").rstrip(".")
    return Finding("execution", Answer.REFUSE, f"{why}; {_ANEW}", arn)


def redrive(states: Any, parcel: Parcel, arn: str) -> Accepted | Refused:
    """Let a failed execution go on where it failed. Its input stays, whatever the parcel's text is.

    The token makes a second request of ours within 15 minutes the same one. Errors: ClientError.
    """
    told = _described(states, arn)
    states.redrive_execution(executionArn=arn, clientToken=parcel.letter.message_id)
    return Accepted(execution_id(arn, int(told.get("redriveCount", 0)) + 1))


def input_of(states: Any, arn: str) -> str:
    """The input of an execution that its letter does not hold, because it is large. Errors: ClientError."""
    return str(states.describe_execution(executionArn=arn).get("input", ""))


def advice_of(letter: Letter, kind: Class) -> str:
    """What to know of a letter for a state machine, beside the advice of its cause; empty for others."""
    if letter.origin is Origin.EXECUTION:
        if kind is Class.DEFINITION:
            return ""
        return "The execution goes on at the step that failed (RedriveExecution), within 14 days of its end."
    if _given_name(letter) and member_of(letter.work.text, "StateMachineArn"):
        return "The execution has a name: if that one has failed, it goes on where it failed (RedriveExecution)."
    return ""


def start(states: Any, machine_arn: str, parcel: Parcel) -> Accepted | Refused:
    """Start the execution of a letter, or let it go on. Errors: ClientError."""
    letter, text = parcel.letter, parcel.text
    given = _given_name(letter)
    name = given or f"redrive-{letter.message_id}"
    try:
        answer = states.start_execution(stateMachineArn=machine_arn, name=name, input=_input(letter, text))
    except ClientError as error:
        if error.response["Error"].get("Code") != "ExecutionAlreadyExists":
            raise
        return _continued(states, _execution_arn(machine_arn, name), letter) if given else Accepted(name)
    return Accepted(str(answer["executionArn"]))


def _continued(states: Any, arn: str, letter: Letter) -> Accepted | Refused:
    """Redrive the execution that has a letter's name. The token makes a second request of ours the same one."""
    told = _described(states, arn)
    if told.get("redriveStatus") != REDRIVABLE:
        why = f"{arn} is {told.get('status')}: {told.get('redriveStatusReason', 'it cannot be redriven')}"
        return Refused("ExecutionAlreadyExists", why, Kind.PERMANENT)
    states.redrive_execution(executionArn=arn, clientToken=letter.message_id)
    return Accepted(arn)


def _described(states: Any, arn: str) -> Mapping[str, Any]:
    try:
        told: Mapping[str, Any] = states.describe_execution(executionArn=arn)
    except ClientError as error:
        if error.response["Error"].get("Code") not in _UNKNOWN:
            raise
        return {}
    return told


def _given_name(letter: Letter) -> str:
    """The name that the request of a schedule gives the execution."""
    return member_of(letter.work.text, "Name") if letter.origin is Origin.SCHEDULE else ""


def instant_of(at: object) -> Instant | None:
    """When an execution ended, as boto3 tells it."""
    return round(at.timestamp() * SECOND_MS) if isinstance(at, datetime) else None


def _input(letter: Letter, text: str) -> str:
    """The input of the execution: of a schedule's request what stands in it."""
    if letter.origin is not Origin.SCHEDULE or not member_of(text, "StateMachineArn"):
        return text
    given = load_json(text).get("Input", "{}")
    return str(given)


def _execution_arn(machine_arn: str, name: str) -> str:
    """The ARN of an execution. A version or an alias of the machine is no part of it."""
    machine = ":".join(machine_arn.split(":")[:7])
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
