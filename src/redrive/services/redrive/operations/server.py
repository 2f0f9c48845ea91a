"""The operations on the server: health, reset, the code of functions."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.node import Node
from redrive.delivery.operation import ByNode, IsWanted
from redrive.delivery.surface import MISSING, open_operation, own_operation, refusal
from redrive.store.api import Transaction

ZIP = "application/zip"


@open_operation("GetHealth")
def get_health(tx: Transaction, caller: Caller) -> ByNode:
    """Report that the server answers, with its version, account, store and clock. No permission is required."""
    return ByNode(lambda node, _: node.health() | node.clock())


@own_operation("ListNodes")
def list_nodes(tx: Transaction, caller: Caller) -> ByNode:
    """List the servers that share the store, and how much work is due and under way. Errors: AccessDeniedException."""
    work = tx.deliveries.work(tx.now)
    told = {"due": work.due, "leased": work.leased, "lag_ms": work.lag_ms}
    return ByNode(lambda node, _: {"nodes": node.nodes(), **told})


@own_operation("Reset")
def reset(tx: Transaction, caller: Caller) -> ByNode:
    """Delete all state; the clock does not change. Errors: AccessDeniedException."""

    def perform(node: Node, _: IsWanted) -> Document:
        node.reset()
        return {"status": "ok"} | node.clock()

    return ByNode(perform)


@own_operation("GetCode")
def get_code(
    tx: Transaction, caller: Caller, *, digest: str, expires: int | None = None, signature: str | None = None
) -> Document:  # fmt: skip
    """Return the code of a function. GetFunction's Location is a URL of this operation.

    The gateway has already verified the URL's signature. Errors: ResourceNotFoundException.
    """
    content = tx.blobs.get(digest)
    if content is None:
        what = f"Nothing of the digest {digest[:100]} is kept here."
        raise refusal(what, "Ask GetFunction for its Location.", MISSING)
    return {"content_type": ZIP, "content": content}
