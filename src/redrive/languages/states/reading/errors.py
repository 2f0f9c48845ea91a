"""Reads Retry and Catch."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.languages.states.definition import WHOLE, Catcher, Jitter, QueryLanguage, Retrier
from redrive.languages.states.errors import ALL
from redrive.languages.states.paths import Path
from redrive.languages.states.reading.assignments import read_assign
from redrive.languages.states.reading.fields import SECONDS_MAX, Faults, Fields

DELAY_S_MAX = 31_622_399


def read_retry(state: Fields) -> tuple[Retrier, ...]:
    """The retriers of a state."""
    found = [_retrier(one) for one in state.elements("Retry", may_be_empty=True)]
    _refuse_early_wildcard(state, "Retry", [one.errors for one in found])
    return tuple(found)


def read_catch(state: Fields) -> tuple[Catcher, ...]:
    """The catchers of a state."""
    found = [_catcher(one) for one in state.elements("Catch", may_be_empty=True)]
    _refuse_early_wildcard(state, "Catch", [one.errors for one in found])
    return tuple(found)


def retriers_of(state: Mapping[str, object]) -> tuple[Retrier, ...]:
    """The retriers of a state whose definition may have placeholders; what cannot be read has its default."""
    return read_retry(Fields(dict(state), "", QueryLanguage.JSONPATH, Faults()))


def errors_caught_by(state: Mapping[str, object]) -> tuple[tuple[str, ...], ...]:
    """The ErrorEquals of each catcher of such a state."""
    return tuple(one.errors for one in read_catch(Fields(dict(state), "", QueryLanguage.JSONPATH, Faults())))


def _retrier(fields: Fields) -> Retrier:
    interval = fields.integer("IntervalSeconds", 1, SECONDS_MAX)
    attempts = fields.integer("MaxAttempts", 0, SECONDS_MAX)
    rate = fields.number("BackoffRate", 1.0, float("inf"))
    delay = fields.integer("MaxDelaySeconds", 1, DELAY_S_MAX)
    jitter = fields.chosen("JitterStrategy", [one.value for one in Jitter])
    if delay is not None and delay <= (interval or 1):
        fields.fault("MaxDelaySeconds must be greater than IntervalSeconds", "MaxDelaySeconds")
    fields.take("Comment")
    errors = _errors(fields)
    fields.refuse_others()
    return Retrier(
        errors,
        1 if interval is None else interval,
        3 if attempts is None else attempts,
        2.0 if rate is None else rate,
        delay,
        Jitter(jitter or "NONE"),
    )


def _catcher(fields: Fields) -> Catcher:
    errors = _errors(fields)
    fields.require(["Next"])
    target = fields.text("Next") or ""
    fields.take("Comment")
    path: Path | None = WHOLE
    output = None
    if fields.is_jsonata:
        output = fields.template("Output")
    else:
        path = fields.result_path()
    assign = read_assign(fields)
    fields.refuse_others()
    return Catcher(errors, target, path, output, assign)


def _errors(fields: Fields) -> tuple[str, ...]:
    fields.require(["ErrorEquals"])
    values = fields.array("ErrorEquals")
    if not all(isinstance(value, str) for value in values):
        fields.fault("Expected value of type String", "ErrorEquals")
    errors = tuple(str(value) for value in values)
    if ALL in errors and len(errors) > 1:
        fields.fault(f"{ALL} must appear alone", "ErrorEquals")
    return errors


def _refuse_early_wildcard(state: Fields, name: str, errors: list[tuple[str, ...]]) -> None:
    for index, one in enumerate(errors[:-1]):
        if ALL in one:
            state.fault(f"{ALL} can only appear in the last element", f"{name}[{index}]/ErrorEquals")
