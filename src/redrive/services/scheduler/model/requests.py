"""The checks of a schedule before it is stored, in AWS's order and, where known, with AWS's messages.

The wire has already checked the shapes: lengths, patterns, enums, required members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.core.arn import Arn
from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.delivery.sources.targets import Templated, Universal, called_operation
from redrive.languages.schedule import (
    At,
    Cron,
    InvalidExpression,
    InvalidTimezone,
    find_zone,
    next_fire,
    parse_expression,
)
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.schedule import Completion, ScheduleState, Settings
from redrive.services.scheduler.model.targets import PARAMETER_BLOCKS, RefusedTarget, is_read_only, schedule_target

Missing = Callable[[str, str, Document], Sequence[str]]
"""(service, operation, document of parameters) -> the required parameters that the document lacks."""


def invalid(message: str) -> ServiceError:
    """Build the error for a request that AWS refuses."""
    return ServiceError("ValidationException", message)


def read_settings(
    *, schedule_expression: str, target: Document, flexible_time_window: Document, region: str, now: Instant,
    missing: Missing, start_date: Instant | None, end_date: Instant | None, description: str | None,
    schedule_expression_timezone: str | None, state: str | None, kms_key_arn: str | None,
    action_after_completion: str | None,
) -> Settings:  # fmt: skip
    """Build the settings of a schedule from the parameters of a request. Errors: ValidationException."""
    settings = Settings(
        expression=schedule_expression,
        target=target,
        timezone=schedule_expression_timezone or "UTC",
        start_at=start_date,
        end_at=end_date,
        description=description,
        state=ScheduleState(state or ScheduleState.ENABLED.value),
        window_minutes=_window_minutes(flexible_time_window),
        completion=Completion(action_after_completion or Completion.NONE.value),
        kms_key_arn=kms_key_arn,
    )
    _check_expression(settings)
    _check_dates(settings, now)
    _check_window(flexible_time_window)
    _check_target(target, region, missing)
    return settings


def _check_target(target: Document, region: str, missing: Missing) -> None:
    """Refuse an invalid target: its ARN, its parameter blocks or its input."""
    try:
        kind = schedule_target(target["Arn"])
    except RefusedTarget as error:
        raise invalid(str(error)) from error
    text = target.get("Input")
    if text is not None and len(text.encode()) > limits.INPUT_BYTES_MAX:
        raise invalid(f"The Input you specify cannot be larger than {limits.INPUT_BYTES_MAX} bytes.")
    for block in PARAMETER_BLOCKS:
        if block in target and (isinstance(kind, Universal) or block != kind.block):
            raise invalid(f"Parameters {block} not supported for the target.")
    match kind:
        case Templated():
            _check_templated(kind, target, region)
        case Universal():
            _check_universal(kind, text, missing)


def _check_expression(settings: Settings) -> None:
    try:
        parse_expression(settings.expression)
    except InvalidExpression as error:
        raise invalid(f"Invalid Schedule Expression {settings.expression}.") from error
    try:
        find_zone(settings.timezone)
    except InvalidTimezone as error:
        raise invalid(f"Invalid Schedule Expression Timezone {settings.timezone}.") from error


def _check_dates(settings: Settings, now: Instant) -> None:
    """Check the start and end dates. One-time schedules ignore their dates, so these are not checked."""
    if isinstance(settings.parsed, At):
        return
    start_at, end_at = settings.start_at, settings.end_at
    if start_at is not None and start_at < now - limits.START_PAST_MS_MAX:
        raise invalid("The StartDate you specify cannot be earlier than 5 minutes ago.")
    if end_at is not None and end_at <= now:
        raise invalid("The EndDate you specify must be in the future.")
    if start_at is not None and end_at is not None and end_at <= start_at:
        raise invalid("The StartDate you specify must come before the EndDate.")
    if isinstance(settings.parsed, Cron) and _never_fires(settings, now):
        began = format_instant(now if start_at is None else start_at)
        raise invalid(f"Schedule Expression {settings.expression} will never schedule with StartDate {began}.")


def _never_fires(settings: Settings, now: Instant) -> bool:
    """Whether a cron has no future occurrence, apart from its EndDate: a past year, 30 February."""
    found = next_fire(settings.parsed, zone=settings.timezone, anchor=now, after=now, start=settings.start_at)
    return found is None


def _window_minutes(window: Document) -> int:
    return int(window.get("MaximumWindowInMinutes", 0)) if window["Mode"] == "FLEXIBLE" else 0


def _check_window(window: Document) -> None:
    has_minutes = "MaximumWindowInMinutes" in window
    if window["Mode"] == "FLEXIBLE" and not has_minutes:
        raise invalid("MaximumWindowInMinutes must be provided when FlexibleTimeWindowMode is set to FLEXIBLE")
    if window["Mode"] == "OFF" and has_minutes:
        raise invalid("MaximumWindowInMinutes must not be provided when FlexibleTimeWindowMode is set to OFF.")


def _check_templated(kind: Templated, target: Document, region: str) -> None:
    arn, block = Arn.parse(target["Arn"]), target.get(kind.block or "")
    if arn.region != region:
        raise invalid(f"The target ARN provided does not match the current region {region}.")
    if kind.needs_block and block is None:
        raise _unspecified(kind)
    if kind.block == "SqsParameters":
        _check_group(kind, arn.resource.endswith(".fifo"), (block or {}).get("MessageGroupId"))
    if block is not None and block.get("LaunchType") == "FARGATE" and "NetworkConfiguration" not in block:
        raise invalid("Parameter NetworkConfiguration must be specified for the target when launch type is FARGATE")
    if kind.takes_json and "Input" in target:
        _read_json(target["Input"])


def _check_group(kind: Templated, is_fifo: bool, message_group: str | None) -> None:
    """A FIFO queue requires a message group; other queues refuse one."""
    if is_fifo and message_group is None:
        raise _unspecified(kind)
    if not is_fifo and message_group is not None:
        raise invalid("Parameters MessageGroupId not valid for the target")


def _unspecified(kind: Templated) -> ServiceError:
    return invalid(f"Parameters {kind.block} must be specified")


def _check_universal(kind: Universal, input: str | None, missing: Missing) -> None:
    unsupported = invalid(f"{kind.action} API is not supported.")
    if is_read_only(kind.action):
        raise unsupported
    if input is None:
        raise invalid("You must provide an input to set this target for your schedule")
    params = _read_json(input)
    if not isinstance(params, dict):
        raise invalid("The Input of a universal target must be a JSON object with the parameters of the API action.")
    try:
        lacking = missing(*called_operation(kind), params)
    except ServiceError as error:
        raise unsupported from error
    if lacking:
        fields = ", ".join(lacking)
        raise invalid(
            f"Invalid RequestJson provided. Reason Request payload is missing the following field(s): {fields}."
        )


def _read_json(input: str) -> object:
    try:
        return load_json(input)
    except ValueError as error:
        raise invalid("JSON syntax error in input for the target") from error
