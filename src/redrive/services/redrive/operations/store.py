"""The operations on a server's whole store: a report about it, and a backup, which clients download in pieces."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.node import Node
from redrive.delivery.operation import ByNode, IsWanted
from redrive.delivery.surface import MISSING, own_operation, refusal
from redrive.store.api import Transaction


@own_operation("GetStoreReport")
def get_store_report(tx: Transaction, caller: Caller) -> ByNode:
    """Read the whole store and report its defects. Errors: AccessDeniedException; ValidationException."""
    return ByNode(lambda node, _: node.report_on_store())


@own_operation("CreateBackup")
def create_backup(tx: Transaction, caller: Caller) -> ByNode:
    """Copy the store while the server continues; answer when the copy is complete.

    Errors: AccessDeniedException; ValidationException (a copy is in progress, the disk is full, or the store is in
    memory).
    """
    return ByNode(lambda node, _: node.create_backup())


@own_operation("GetBackup")
def get_backup(tx: Transaction, caller: Caller) -> ByNode:
    """Return the progress of the latest copy. Errors: AccessDeniedException."""
    return ByNode(lambda node, _: node.backup())


@own_operation("GetBackupContent")
def get_backup_content(tx: Transaction, caller: Caller, *, id: int, offset: int = 0) -> ByNode:
    """Return a piece of the copy, at most 4 MiB.

    Errors: AccessDeniedException; ResourceNotFoundException (no such copy, or it is not complete); ValidationException
    (the store is in memory).
    """

    def perform(node: Node, _: IsWanted) -> Document:
        content = node.backup_content(id, offset)
        if content is None:
            raise refusal("There is no such backup here.", "Make one: POST /_redrive/store/backup", MISSING)
        return {"content": content}

    return ByNode(perform)


@own_operation("DeleteBackup")
def delete_backup(tx: Transaction, caller: Caller) -> ByNode:
    """Delete the copy. Errors: AccessDeniedException; ValidationException."""

    def perform(node: Node, _: IsWanted) -> Document:
        node.delete_backup()
        return {"status": "ok"}

    return ByNode(perform)
