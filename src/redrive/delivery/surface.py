"""What operations of the server's own surface share, in whichever service they stand: permission, scope, refusals.

    @own_operation("ListFaults")
    def list_faults(tx, caller) -> Document

A service tells of its own resources there, beside AWS's operations on them: the schedules' occurrences, for one.
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
"""The name of the surface, as of a service: in signatures and in policies."""

INVALID = "ValidationException"
MISSING = "ResourceNotFoundException"
STOPPED = "ConflictException"


def own_operation(name: str) -> Callable[[F], F]:
    """Mark a function as an operation of our own surface, for whoever may do `redrive:NAME`: the account itself may.

    Errors of the operation: AccessDeniedException beside its own.
    """

    def mark(function: F) -> F:
        @functools.wraps(function)
        def permitted(tx: Transaction, caller: Caller, **params: object) -> Answer:
            tx.services.authorize(tx, caller, f"{SERVICE}:{name}", "*")
            return function(tx, caller, **params)

        return cast(F, operation(name)(permitted))

    return mark


open_operation = operation
"""Marks an operation of our own surface that everybody may do."""


def refusal(what: str, next_step: str, code: str = INVALID) -> ServiceError:
    """An error that says what is wrong, and what to do next."""
    return ServiceError(code, what, members={"next": next_step})


def scope_asked(caller: Caller, account: str | None, region: str | None) -> Scope:
    """The account and region that a call is about: the caller's own, unless it names others.

    Errors: AccessDeniedException: a role or a user asks about another account.
    """
    asked = Scope(account or caller.account, region or caller.region)
    if not caller.is_account and asked.account != caller.account:
        message = f"{caller.principal_arn} may not ask about the account {asked.account}."
        raise refusal(message, "Sign with a key of the server's own account.", "AccessDeniedException")
    return asked
