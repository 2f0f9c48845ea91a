"""Evaluates JSONata by jsonata-python."""

from __future__ import annotations

from typing import Final

from jsonata import JException, Jsonata
from jsonata.utils import Utils

from redrive.languages.states.bindings import Bindings

UNDEFINED: Final = object()


class FailedEvaluation(ValueError):
    """The expression failed; the text begins with JSONata's code."""


class UnsupportedResult(ValueError):
    """The expression gave what is no JSON: a function."""


def evaluate(text: str, root: object, bindings: Bindings) -> object:
    """The value of an expression, or UNDEFINED. Errors: FailedEvaluation, UnsupportedResult."""
    try:
        expression = Jsonata(text)
        expression.set_output_convert_nulls(False)
        states = {**(root if isinstance(root, dict) else {}), "context": bindings.context}
        value = expression.evaluate(None, {"states": states, **bindings.variables})
    except JException as error:
        raise FailedEvaluation(f"{error.error}: {error}") from None
    if value is None:
        return UNDEFINED
    return Utils.convert_nulls(value)


def fault_of(text: str) -> str | None:
    """Why a text is no JSONata; None if it is."""
    try:
        Jsonata(text)
    except JException as error:
        return f"{error.error}: {error}"
    return None
