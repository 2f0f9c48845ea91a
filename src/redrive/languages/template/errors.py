"""What is wrong with a template, in the words CloudFormation uses."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template, or a value given to it, that CloudFormation refuses; its code for it is `ValidationError`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
