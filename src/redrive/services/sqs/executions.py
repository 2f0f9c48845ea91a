"""To which executions received messages belong: for who records what became of a batch. No client sees it."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from redrive.store.api import Transaction
from redrive.store.tables.runs import Link


def executions_of(tx: Transaction, handles: Sequence[str]) -> Sequence[Link]:
    """The messages that these receipt handles of ours stand for, each with its execution."""
    return tx.messages.executions_of([int(base64.b64decode(handle).decode().split(":")[1]) for handle in handles])
