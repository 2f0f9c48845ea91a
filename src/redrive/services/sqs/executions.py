"""The executions that received messages belong to. The history of a batch needs them; no client sees them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from redrive.store.api import Transaction
from redrive.store.tables.runs import Link


def executions_of(tx: Transaction, handles: Sequence[str]) -> Sequence[Link]:
    """Return the messages that these receipt handles stand for, each with its execution. The handles must be ours."""
    return tx.messages.executions_of([int(base64.b64decode(handle).decode().split(":")[1]) for handle in handles])
