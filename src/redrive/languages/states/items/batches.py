"""Gathers items into batches, by number and by bytes.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/input-output-itembatcher.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redrive.core.documents import Document
from redrive.languages.states.payloads import PAYLOAD_BYTES_MAX, payload_bytes


def batches_of(
    items: Iterable[object], items_max: int | None, bytes_max: int | None, batch_input: object = None
) -> Iterator[list[object]]:
    """The batches in order: each as long as its number of items and its input in bytes allow.

    An item that is too large for any batch is in one of its own; its child execution says so.
    """
    most = min(bytes_max or PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX)
    empty = payload_bytes(batch_document([], batch_input))
    batch: list[object] = []
    size = empty
    for item in items:
        width = payload_bytes(item)
        comma = 1 if batch else 0
        if batch and ((items_max is not None and len(batch) >= items_max) or size + comma + width > most):
            yield batch
            batch, size, comma = [], empty, 0
        batch.append(item)
        size += comma + width
    if batch:
        yield batch


def batch_document(items: list[object], batch_input: object = None) -> Document:
    """The input of a child execution that gets a batch. Without BatchInput there is only Items."""
    return {"Items": items} if batch_input is None else {"BatchInput": batch_input, "Items": items}
