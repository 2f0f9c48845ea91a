"""The operations on schedules."""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.languages.iam import passed_to
from redrive.services.scheduler import limits
from redrive.services.scheduler.misspellings import tell_of_misspellings
from redrive.services.scheduler.model.executions import shown_target
from redrive.services.scheduler.model.occurrences import begin, given_up, planned, revise
from redrive.services.scheduler.model.pages import decode_token, encode_token
from redrive.services.scheduler.model.requests import invalid, read_settings
from redrive.services.scheduler.model.schedule import (
    DEFAULT_GROUP,
    Schedule,
    ScheduleState,
    Settings,
    full_name,
    group_arn,
    group_of_arn,
    schedule_arn,
)
from redrive.services.scheduler.operations.groups import active_group, the_group
from redrive.services.scheduler.promises import record_unfired
from redrive.services.scheduler.timers import store_schedule
from redrive.services.scheduler.tokens import once
from redrive.services.scheduler.workers.schedules import end_schedule, fire_what_is_due
from redrive.store.api import Transaction

PRINCIPAL = "scheduler.amazonaws.com"
SALT_DIGITS = 16
ROLE_REFUSAL = "The execution role you provide must allow AWS EventBridge Scheduler to assume the role."


@operation("CreateSchedule")
def create_schedule(
    tx: Transaction, caller: Caller, *, name: str, schedule_expression: str, target: Document,
    flexible_time_window: Document, group_name: str | None = None, start_date: Instant | None = None,
    end_date: Instant | None = None, description: str | None = None, schedule_expression_timezone: str | None = None,
    state: str | None = None, kms_key_arn: str | None = None, action_after_completion: str | None = None,
    client_token: str | None = None,
) -> Document:  # fmt: skip
    """Create a schedule. The target need not exist; EventBridge Scheduler must be allowed to assume the role.

    Errors: ValidationException; ResourceNotFoundException (no such group); ConflictException (the name is in use, the
    group is being deleted, or the ClientToken was used for another request).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
    """
    group = group_name or DEFAULT_GROUP
    scope, arn = caller.scope, schedule_arn(caller.scope, group, name)
    tx.services.authorize(tx, caller, "scheduler:CreateSchedule", arn)
    choices: Document = {
        "schedule_expression": schedule_expression, "target": target, "flexible_time_window": flexible_time_window,
        "start_date": start_date, "end_date": end_date, "description": description, "state": state,
        "schedule_expression_timezone": schedule_expression_timezone, "kms_key_arn": kms_key_arn,
        "action_after_completion": action_after_completion,
    }  # fmt: skip

    def create() -> Document:
        settings = read_settings(**choices, region=scope.region, now=tx.now, missing=tx.services.missing)
        active_group(tx, scope, group)
        if tx.resources.get(Schedule, scope, full_name(group, name)) is not None:
            raise ServiceError("ConflictException", f"Schedule {name} already exists.")
        _check_role(tx, caller, settings, arn)
        schedule = begin(group, name, settings, tx.now, salt=tx.entropy.hex(SALT_DIGITS))
        store_schedule(tx, scope, schedule, planned(schedule, scope, tx.now))
        tell_of_misspellings(tx, arn, settings.target)
        return {"ScheduleArn": arn}

    return once(tx, caller, "CreateSchedule", client_token, params={"arn": arn, **choices}, run=create)


@operation("UpdateSchedule")
def update_schedule(
    tx: Transaction, caller: Caller, *, name: str, schedule_expression: str, target: Document,
    flexible_time_window: Document, group_name: str | None = None, start_date: Instant | None = None,
    end_date: Instant | None = None, description: str | None = None, schedule_expression_timezone: str | None = None,
    state: str | None = None, kms_key_arn: str | None = None, action_after_completion: str | None = None,
    client_token: str | None = None,
) -> Document:  # fmt: skip
    """Replace all settings of a schedule; parameters that are not sent get their defaults.

    Occurrences to be invoked by now fire first, with the old settings. An occurrence that waits in its window goes to
    the new target.

    Errors: ValidationException; ResourceNotFoundException (no such group or schedule); ConflictException (the group is
    being deleted, or the ClientToken was used for another request).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_UpdateSchedule.html
    """
    group = group_name or DEFAULT_GROUP
    scope, arn = caller.scope, schedule_arn(caller.scope, group, name)
    tx.services.authorize(tx, caller, "scheduler:UpdateSchedule", arn)
    choices: Document = {
        "schedule_expression": schedule_expression, "target": target, "flexible_time_window": flexible_time_window,
        "start_date": start_date, "end_date": end_date, "description": description, "state": state,
        "schedule_expression_timezone": schedule_expression_timezone, "kms_key_arn": kms_key_arn,
        "action_after_completion": action_after_completion,
    }  # fmt: skip

    def update() -> Document:
        settings = read_settings(**choices, region=scope.region, now=tx.now, missing=tx.services.missing)
        active_group(tx, scope, group)
        found = _the_schedule(tx, scope, group, name)
        _check_role(tx, caller, settings, arn)
        before = fire_what_is_due(tx, scope, found)
        schedule = revise(before, settings, tx.now)
        store_schedule(tx, scope, schedule, planned(schedule, scope, tx.now))
        record_unfired(tx, scope, before, given_up(before, schedule, tx.now), ended="changed")
        if settings.target.get("Input") != before.settings.target.get("Input"):
            tell_of_misspellings(tx, arn, settings.target)
        return {"ScheduleArn": arn}

    return once(tx, caller, "UpdateSchedule", client_token, params={"arn": arn, **choices}, run=update)


@operation("GetSchedule")
def get_schedule(tx: Transaction, caller: Caller, *, name: str, group_name: str | None = None) -> Document:
    """Show a schedule with all its settings.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html
    """
    group = group_name or DEFAULT_GROUP
    tx.services.authorize(tx, caller, "scheduler:GetSchedule", schedule_arn(caller.scope, group, name))
    schedule = _the_schedule(tx, caller.scope, group, name)
    settings = schedule.settings
    window: Document = {"Mode": "OFF"}
    if settings.window_minutes:
        window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": settings.window_minutes}
    return {
        **_identity(caller.scope, schedule),
        "ScheduleExpression": settings.expression,
        "ScheduleExpressionTimezone": settings.timezone,
        "StartDate": settings.start_at,
        "EndDate": settings.end_at,
        "Description": settings.description,
        "KmsKeyArn": settings.kms_key_arn,
        "Target": shown_target(settings.target),
        "FlexibleTimeWindow": window,
        "ActionAfterCompletion": settings.completion.value,
    }


@operation("DeleteSchedule")
def delete_schedule(
    tx: Transaction, caller: Caller, *, name: str, group_name: str | None = None, client_token: str | None = None
) -> Document:
    """Delete a schedule. Occurrences to be invoked by now fire first, and are delivered with all their retries.

    Errors: ResourceNotFoundException; ConflictException (the ClientToken was used for another request).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_DeleteSchedule.html
    """
    group = group_name or DEFAULT_GROUP
    arn = schedule_arn(caller.scope, group, name)
    tx.services.authorize(tx, caller, "scheduler:DeleteSchedule", arn)

    def delete() -> Document:
        end_schedule(tx, caller.scope, _the_schedule(tx, caller.scope, group, name))
        return {}

    return once(tx, caller, "DeleteSchedule", client_token, params={"arn": arn}, run=delete)


@operation("ListSchedules")
def list_schedules(
    tx: Transaction, caller: Caller, *, group_name: str | None = None, name_prefix: str | None = None,
    state: str | None = None, next_token: str | None = None, max_results: int | None = None,
) -> Document:  # fmt: skip
    """List schedules sorted by `group/name`; optionally of one group, with a prefix, in one state.

    Errors: ResourceNotFoundException (no such group); ValidationException (an invalid NextToken).
    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListSchedules.html
    """
    scope, size = caller.scope, max_results or limits.PAGE_MAX
    tx.services.authorize(tx, caller, "scheduler:ListSchedules", "*")
    if group_name is not None:
        the_group(tx, scope, group_name)
    prefix = "" if group_name is None else full_name(group_name, name_prefix or "")
    found: list[Schedule] = []
    asked = ("ListSchedules", group_name, name_prefix, state)
    after, scanned = decode_token(next_token, *asked), limits.LIST_SCAN_PAGE
    while len(found) <= size and scanned == limits.LIST_SCAN_PAGE:
        batch = tx.resources.list(Schedule, scope, prefix=prefix, after=after, limit=limits.LIST_SCAN_PAGE)
        found += [schedule for schedule in batch if _is_wanted(schedule, name_prefix, state)]
        scanned, after = len(batch), batch[-1].name if batch else after
    page = found[:size]
    return {
        "Schedules": [
            {**_identity(scope, schedule), "Target": {"Arn": schedule.settings.target["Arn"]}} for schedule in page
        ],
        "NextToken": encode_token(page[-1].name, *asked) if len(found) > size else None,
    }


def _the_schedule(tx: Transaction, scope: Scope, group_name: str, name: str) -> Schedule:
    schedule = tx.resources.get(Schedule, scope, full_name(group_name, name))
    if schedule is None:
        raise ServiceError("ResourceNotFoundException", f"Schedule {name} does not exist.")
    return schedule


def _check_role(tx: Transaction, caller: Caller, settings: Settings, arn: str) -> None:
    """Check that the caller may pass the execution role, and that EventBridge Scheduler may assume it.

    This check comes after all others.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
    """
    role_arn = settings.target["RoleArn"]
    if Arn.parse(role_arn).account != caller.account:
        raise ServiceError("AccessDeniedException", "Cross-account pass role is not allowed.")
    tx.services.authorize(tx, caller, "iam:PassRole", role_arn, context=passed_to(PRINCIPAL, arn))
    try:
        tx.services.assume_role(
            tx, role_arn, service=PRINCIPAL, session_name="scheduler", region=caller.region,
            request_id=caller.request_id, source_arn=group_arn(caller.scope, group_of_arn(arn)),
        )  # fmt: skip
    except ServiceError as error:
        raise invalid(ROLE_REFUSAL) from error


def _is_wanted(schedule: Schedule, name_prefix: str | None, state: str | None) -> bool:
    if state is not None and schedule.settings.state is not ScheduleState(state):
        return False
    return schedule.schedule_name.startswith(name_prefix or "")


def _identity(scope: Scope, schedule: Schedule) -> Document:
    return {
        "Arn": schedule.arn(scope),
        "Name": schedule.schedule_name,
        "GroupName": schedule.group_name,
        "State": schedule.settings.state.value,
        "CreationDate": schedule.created_at,
        "LastModificationDate": schedule.modified_at,
    }
