"""What operations of the server's own surface share in all services: permission, scope, refusals.

    @own_operation("ListFaults")
    def list_faults(tx, caller) -> Document

With such operations, a service shows its own resources besides AWS's operations, such as the occurrences of schedules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import cast

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import Answer, F, operation
from redrive.store.api import Transaction

SERVICE = "redrive"
"""The surface's service name in signatures and policies."""

INVALID = "ValidationException"
MISSING = "ResourceNotFoundException"
STOPPED = "ConflictException"


def own_operation(name: str) -> Callable[[F], F]:
    """Mark a function as an operation of our own surface. Callers need the permission `redrive:NAME`.

    The account itself has this permission. Errors of the operation: its own, and AccessDeniedException.
    """

    def mark(function: F) -> F:
        @functools.wraps(function)
        def permitted(tx: Transaction, caller: Caller, **params: object) -> Answer:
            tx.services.authorize(tx, caller, f"{SERVICE}:{name}", "*")
            return function(tx, caller, **params)

        return cast(F, operation(name)(permitted))

    return mark


open_operation = operation
"""Marks an operation of our own surface that needs no permission."""


def refusal(what: str, next_step: str, code: str = INVALID) -> ServiceError:
    """An error that says what is wrong, and what to do next."""
    return ServiceError(code, what, members={"next": next_step})


def scope_asked(caller: Caller, account: str | None, region: str | None) -> Scope:
    """The account and region of a request: the caller's own unless the request names others.

    Errors: AccessDeniedException: a role or a user asks about another account.
    """
    asked = Scope(account or caller.account, region or caller.region)
    if not caller.is_account and asked.account != caller.account:
        message = f"{caller.principal_arn} may not ask about the account {asked.account}."
        raise refusal(message, "Sign with a key of the server's own account.", "AccessDeniedException")
    return asked
