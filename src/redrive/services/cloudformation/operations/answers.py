"""The operation that receives answers of custom resources and signals of wait conditions, at signed URLs."""

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
    """Receive an answer or a signal. The gateway has already verified the URL. Errors: ValidationException."""
    try:
        take(tx, token, content)
    except ValueError as error:
        raise refusal(f"The answer was not taken: {error}.", "Send a JSON object.") from error
    return {}
