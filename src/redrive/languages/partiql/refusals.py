"""The errors of PartiQL: a text that cannot be parsed, and a syntax that DynamoDB does not have.

Every refusal is a `ValidationException`. Source of the sentences: docs/semantics/dynamodb-partiql.md.
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.refusals import invalid


def malformed(detail: str) -> ServiceError:
    """The error for a statement that cannot be parsed. AWS leaves the detail empty where the lexer fails."""
    return invalid(f"Statement wasn't well formed, can't be processed: {detail}")


def unsupported(what: str, place: str) -> ServiceError:
    """The error for valid PartiQL that DynamoDB does not have; `place` is `line:column:length`."""
    return invalid(f"Unsupported {what} at {place}")


def aliased() -> ServiceError:
    """The error for a table or an attribute with an alias."""
    return invalid("Aliasing is not supported")


def incorrect_operand(operator: str, type_name: str) -> ServiceError:
    """The error for an operand whose type the operator or function never accepts."""
    return invalid(
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {type_name}"
    )


def incorrect_count(function: str, count: int) -> ServiceError:
    """The error for a function with too few or too many operands."""
    return invalid(
        "Incorrect number of operands for operator or function; "
        f"operator or function: {function}, number of operands: {count}"
    )


def path_required(function: str) -> ServiceError:
    """The error for a function whose first operand is not a document path."""
    return invalid(f"Operator or function requires a document path; operator or function: {function}")
