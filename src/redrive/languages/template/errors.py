"""The error for an invalid template, in CloudFormation's words."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template, or a value for it, that CloudFormation refuses; its code is `ValidationError`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
