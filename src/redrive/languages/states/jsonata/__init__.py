"""JSONata, by jsonata-python: with bounds on work, depth and size, with Step Functions' functions, and with time and
randomness as arguments.

    evaluate("$states.input.price * 2", {"input": {"price": 4}}, bindings)  →  8

The library is imported with the first expression.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
"""

from __future__ import annotations

from redrive.languages.states.bindings import Bindings
from redrive.languages.states.jsonata.failures import UNDEFINED, FailedEvaluation, UnsupportedResult

__all__ = ["UNDEFINED", "FailedEvaluation", "UnsupportedResult", "evaluate", "fault_of"]


def evaluate(text: str, root: object, bindings: Bindings) -> object:
    """The value of an expression, or UNDEFINED. `root` is $states without its context.

    Errors: FailedEvaluation, UnsupportedResult.
    """
    from redrive.languages.states.jsonata import evaluation  # noqa: PLC0415 - importing JSONata takes long.

    states = {**(root if isinstance(root, dict) else {}), "context": bindings.context}
    return evaluation.evaluate(text, {**bindings.variables, "states": states}, bindings.entropy, bindings.now)


def fault_of(text: str) -> str | None:
    """Why a text is no expression; None if it is."""
    from redrive.languages.states.jsonata import evaluation  # noqa: PLC0415 - as above.

    try:
        evaluation.parse(text)
    except FailedEvaluation as error:
        return str(error)
    return None
