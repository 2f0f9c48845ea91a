"""Where the secrets of connections are: apart from the connections, in documents that no answer is made of.

AWS keeps them in Secrets Manager, under the connection's SecretArn. This module is the only one that reads and writes
them, so that they can move there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.events.model.connection import Connection, shown_parameters
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class ConnectionSecret:
    """The secret part of the connection with this name and uid: its whole AuthParameters, and its token."""

    KIND: ClassVar[str] = "events.connection_secret"

    name: str
    uid: str
    parameters: Document
    token: str = ""


def find_connection(tx: Transaction, scope: Scope, name: str) -> Connection | None:
    """A connection with its secrets, or None."""
    shown = tx.resources.get(Connection, scope, name)
    if shown is None:
        return None
    secret = tx.resources.get(ConnectionSecret, scope, name)
    if secret is None or secret.uid != shown.uid:
        return shown  # It was stored before its secrets were kept apart, and has them itself.
    return replace(shown, parameters=secret.parameters, token=secret.token)


def store_connection(tx: Transaction, scope: Scope, connection: Connection) -> None:
    """Store a connection; its secrets go into a document of their own."""
    tx.resources.put(scope, replace(connection, parameters=shown_parameters(connection.parameters), token=""))
    secret = ConnectionSecret(connection.name, connection.uid, connection.parameters, connection.token)
    if tx.resources.get(ConnectionSecret, scope, connection.name) != secret:
        tx.resources.put(scope, secret)


def delete_connection(tx: Transaction, scope: Scope, name: str) -> None:
    """Delete a connection and its secrets."""
    tx.resources.delete(Connection, scope, name)
    tx.resources.delete(ConnectionSecret, scope, name)
