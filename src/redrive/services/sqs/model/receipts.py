"""Receipt handles: an opaque text that identifies one receive of one message."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from redrive.core.errors import ServiceError
from redrive.services.sqs.model.requests import missing_parameter


@dataclass(frozen=True, slots=True)
class Receipt:
    """The decoded form of a handle: the message's `seq` in the queue, and the nonce of the receive."""

    queue_id: str
    seq: int
    nonce: str


def encode_receipt(receipt: Receipt) -> str:
    """Return the handle of a receive."""
    text = f"{receipt.queue_id}:{receipt.seq}:{receipt.nonce}"
    return base64.b64encode(text.encode()).decode()


def decode_receipt(handle: str, queue_id: str) -> Receipt:
    """Return the receive that a handle of this queue identifies.

    Errors: ReceiptHandleIsInvalid if no receive of this queue gave the handle; MissingRequiredParameterException.
    """
    if not handle:
        raise missing_parameter("ReceiptHandle")
    try:
        given_id, seq, nonce = base64.b64decode(handle, validate=True).decode().split(":")
        receipt = Receipt(given_id, int(seq), nonce)
    except ValueError:
        receipt = None
    if receipt is None or not 0 < receipt.seq < 1 << 63:
        raise _invalid(f'The input receipt handle "{handle}" is not a valid receipt handle.')
    if receipt.queue_id != queue_id:
        raise _invalid(f'The receipt handle "{handle}" is not valid for this queue.')
    return receipt


def _invalid(message: str) -> ServiceError:
    return ServiceError("ReceiptHandleIsInvalid", message)
