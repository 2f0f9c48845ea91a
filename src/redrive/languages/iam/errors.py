"""What is wrong with a policy document, in the words IAM uses."""

from __future__ import annotations


class PolicyError(ValueError):
    """A policy document that IAM refuses; IAM's code for it is `MalformedPolicyDocument`.

    Other services wrap the same mistake in codes of their own, so the code is theirs to choose.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


SYNTAX_ERRORS = "Syntax errors in policy."
