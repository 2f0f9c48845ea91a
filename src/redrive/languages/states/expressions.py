"""JSONata in a state: `{% $states.input.id %}`, alone as a field or inside of JSON.

A text that begins with `{%` and ends with `%}` is an expression; everything else is what it is.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
"""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.documents import dump_json
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.errors import QUERY_EVALUATION_ERROR, StatesError
from redrive.languages.states.jsonata import UNDEFINED, FailedEvaluation, UnsupportedResult, evaluate
from redrive.languages.states.templates import Elements, Literal, MalformedTemplate, Members, Template

BEGIN = "{%"
END = "%}"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression and the field that it stands in: Output/result."""

    text: str
    field: str

    def value(self, root: object, bindings: Bindings) -> object:
        """What the expression gives for $states. Errors: StatesError."""
        try:
            value = evaluate(self.text, root, bindings)
        except FailedEvaluation as error:
            raise self.failed(f"threw an error during evaluation. {error}") from None
        except UnsupportedResult:
            raise self.failed("returned an unsupported result type.") from None
        if value is UNDEFINED:
            raise self.failed("returned nothing (undefined).")
        return value

    def failed(self, what: str) -> StatesError:
        """The error of this expression: what it did, as the end of a sentence."""
        return StatesError(
            QUERY_EVALUATION_ERROR,
            f"The JSONata expression '{self.text}' specified for the field '{self.field}' {what}",
            location=self.field,
        )

    def unexpected(self, expected: str, value: object) -> StatesError:
        """The error of a value that is no `expected`, a kind of JSON in lower case."""
        return self.failed(
            f"returned an unexpected result type. Expected '{expected}', but was '{kind_of(value)}' for value: "
            f"{dump_json(value)}"
        )


def is_expression(value: object) -> bool:
    """Whether a value of JSON is an expression."""
    return isinstance(value, str) and value.startswith(BEGIN) and value.rstrip().endswith(END)


def parse_expression(text: str, field: str) -> Expression:
    """The expression in a field. The text must be one; whether it is valid JSONata, `fault_of` says."""
    return Expression(text.strip().removeprefix(BEGIN).removesuffix(END).strip(), field)


def parse_data(document: object, field: str) -> Template:
    """JSON with expressions in it, as in Arguments, Output and Assign. Errors: MalformedTemplate."""
    faults: list[tuple[str, str]] = []
    template = _parse(document, field, "", faults)
    if faults:
        raise MalformedTemplate(faults)
    return template


def _parse(document: object, field: str, place: str, faults: list[tuple[str, str]]) -> Template:
    if isinstance(document, str) and is_expression(document):
        return parse_expression(document, field)
    if isinstance(document, dict):
        members = tuple(
            (name, _parse(one, f"{field}/{name}", f"{place}/{name}", faults)) for name, one in document.items()
        )
        return Literal(document) if all(isinstance(part, Literal) for _, part in members) else Members(members)
    if isinstance(document, list):
        parts = tuple(
            _parse(one, f"{field}[{index}]", f"{place}[{index}]", faults) for index, one in enumerate(document)
        )
        return Literal(document) if all(isinstance(part, Literal) for part in parts) else Elements(parts)
    return Literal(document)


def kind_of(value: object) -> str:
    """The kind of a value of JSON, in the words of its specification."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
