"""The answers of custom resources and the signals of wait conditions, at the URLs that stacks have given away."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.surface import own_operation, refusal
from redrive.services.cloudformation.answers import take
from redrive.store.api import Transaction


@own_operation("PutAnswer")
def put_answer(
    tx: Transaction, caller: Caller, *, token: str, content: bytes = b"", expires: int | None = None,
    signature: str | None = None,
) -> Document:  # fmt: skip
    """Take an answer, or a signal. Whether its URL is genuine was looked at before. Errors: ValidationException."""
    try:
        take(tx, token, content)
    except ValueError as error:
        raise refusal(f"The answer was not taken: {error}.", "Send a JSON object.") from error
    return {}
