"""Task tokens: they name an execution, a frame of it, and the number of the frame's task.

A token is no secret in redrive: who may call SendTaskSuccess is decided by policies.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import NamedTuple

from redrive.services.stepfunctions.model.requests import bad_token

_PREFIX = "AQCQAAAAKgAAAAMAAAAAAAAAA"
_DIGEST_LENGTH = 32


class TaskToken(NamedTuple):
    """What a token names."""

    arn: str
    id: str
    frame: str
    task: int


def write_token(token: TaskToken) -> str:
    """The text of a token. The digest finds texts that were damaged on their way."""
    text = f"{token.arn} {token.id} {token.frame} {token.task}"
    return _PREFIX + base64.urlsafe_b64encode(f"{_digest(text)}{text}".encode()).decode().rstrip("=")


def read_token(text: str) -> TaskToken:
    """The token in a text. Errors: InvalidToken."""
    try:
        body = text.removeprefix(_PREFIX)
        found = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise bad_token() from error
    content = found[_DIGEST_LENGTH:]
    if not text.startswith(_PREFIX) or found[:_DIGEST_LENGTH] != _digest(content):
        raise bad_token()
    arn, execution_id, frame, task = content.split(" ")
    return TaskToken(arn, execution_id, frame, int(task))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
