"""What is checked of a schedule before it is stored, in AWS's order and, where they are known, AWS's words.

The wire has checked the shapes before: lengths, patterns, enums, required members.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.languages.schedule import At, InvalidExpression, InvalidTimezone, find_zone, parse_expression
from redrive.services.scheduler import limits
from redrive.services.scheduler.model import Completion, ScheduleState, Settings
from redrive.services.scheduler.model_targets import (
    PARAMETER_BLOCKS,
    Templated,
    Universal,
    UnsupportedTarget,
    find_target,
    is_read_only,
)


def invalid(message: str) -> ServiceError:
    """The refusal of a request."""
    return ServiceError("ValidationException", message)


def read_settings(
    *, schedule_expression: str, target: Document, flexible_time_window: Document, now: Instant,
    start_date: Instant | None, end_date: Instant | None, description: str | None,
    schedule_expression_timezone: str | None, state: str | None, kms_key_arn: str | None,
    action_after_completion: str | None,
) -> Settings:  # fmt: skip
    """The settings of a schedule from the parameters of a request. Errors: ValidationException."""
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
    check_target(target)
    return settings


def check_target(target: Document) -> None:
    """Refuse a target that no schedule can have: its ARN, its parameter blocks, its input.

    Errors: ValidationException.
    """
    try:
        kind = find_target(target["Arn"])
    except UnsupportedTarget as error:
        raise invalid("Provided Arn is not in correct format.") from error
    given = [block for block in PARAMETER_BLOCKS if block in target]
    text = target.get("Input")
    if text is not None and len(text.encode()) > limits.INPUT_BYTES_MAX:
        raise invalid(f"The Input you specify cannot be larger than {limits.INPUT_BYTES_MAX} bytes.")
    match kind:
        case Templated():
            _check_templated(kind, given, text)
        case Universal():
            _check_universal(kind, given, text)


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
    """One-time schedules regard no dates, so theirs are not looked at."""
    if isinstance(settings.parsed, At):
        return
    start_at, end_at = settings.start_at, settings.end_at
    if start_at is not None and start_at < now - limits.START_PAST_MS_MAX:
        raise invalid("The StartDate you specify cannot be earlier than 5 minutes ago.")
    if end_at is not None and end_at <= now:
        raise invalid("The EndDate you specify must be in the future.")
    if start_at is not None and end_at is not None and end_at <= start_at:
        raise invalid("The EndDate you specify must come after the StartDate.")


def _window_minutes(window: Document) -> int:
    return int(window.get("MaximumWindowInMinutes", 0)) if window["Mode"] == "FLEXIBLE" else 0


def _check_window(window: Document) -> None:
    has_minutes = "MaximumWindowInMinutes" in window
    if window["Mode"] == "FLEXIBLE" and not has_minutes:
        raise invalid("MaximumWindowInMinutes must be provided when the FlexibleTimeWindow Mode is FLEXIBLE.")
    if window["Mode"] == "OFF" and has_minutes:
        raise invalid("MaximumWindowInMinutes can only be provided when the FlexibleTimeWindow Mode is FLEXIBLE.")


def _check_templated(kind: Templated, given: list[str], input: str | None) -> None:
    for block in given:
        if block != kind.block:
            raise invalid(f"{block} cannot be used with a target of {kind.service}:{kind.action}.")
    if kind.needs_block and not given:
        raise invalid(f"{kind.block} must be provided for a target of {kind.service}:{kind.action}.")
    if kind.takes_json and input is not None:
        _read_json(input)


def _check_universal(kind: Universal, given: list[str], input: str | None) -> None:
    if given:
        raise invalid(f"{given[0]} cannot be used with a universal target.")
    if is_read_only(kind.action):
        raise invalid(f"The action {kind.service}:{kind.action} cannot be used with a universal target.")
    params = {} if input is None else _read_json(input)
    if not isinstance(params, dict):
        raise invalid("The Input of a universal target must be a JSON object with the parameters of the API action.")


def _read_json(input: str) -> object:
    try:
        return load_json(input)
    except ValueError as error:
        raise invalid("The Input you specify must be well-formed JSON for this target.") from error
