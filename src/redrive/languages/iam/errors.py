"""The error for an invalid policy document, in IAM's words."""

from __future__ import annotations


class PolicyError(ValueError):
    """A policy document that IAM refuses; IAM's code for it is `MalformedPolicyDocument`.

    Other services use codes of their own for the same mistake, so the service chooses the code.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


SYNTAX_ERRORS = "Syntax errors in policy."
