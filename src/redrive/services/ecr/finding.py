"""Finds the repository that a request names."""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.ecr.model.repository import Repository, no_such_repository, repository_arn
from redrive.store.api import Transaction


def found(tx: Transaction, caller: Caller, operation: str, name: str, registry_id: str | None) -> Repository:
    """Return a repository with which the caller may do this.

    Errors: RepositoryNotFoundException; AccessDeniedException; InvalidParameterException (another registry).
    """
    tx.services.authorize(tx, caller, f"ecr:{operation}", repository_arn(caller.scope, name))
    check_registry(caller, registry_id)
    repository = tx.resources.get(Repository, caller.scope, name)
    if repository is None:
        raise no_such_repository(caller.account, name)
    return repository


def check_registry(caller: Caller, registry_id: str | None) -> None:
    """Refuse the registry of another account. Errors: InvalidParameterException."""
    if registry_id not in (None, caller.account):
        message = f"Invalid parameter at 'registryId' failed to satisfy constraint: '{registry_id}' is another account"
        raise ServiceError("InvalidParameterException", message)
