"""The principal that creates, changes and deletes the resources of a stack.

The principal is the caller of the operation, or the stack's role. A caller with permission passes the role to
CloudFormation; the operation assumes the role at its start, and the stack keeps the role from then on. The stack also
keeps the principal until the operation has ended, including a rollback. The principal's permissions are checked again
for each resource.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.iam import passed_to
from redrive.services.cloudformation.model.stack import Blueprint
from redrive.services.cloudformation.templates import validation_error
from redrive.store.api import Transaction

PRINCIPAL = "cloudformation.amazonaws.com"
SESSION_NAME = "AWSCloudFormation"


def pass_role(tx: Transaction, caller: Caller, role_arn: str | None, stack_id: str) -> None:
    """Refuse a role that the caller may not pass, or that CloudFormation cannot assume; None means no role.

    Errors: AccessDeniedException (`iam:PassRole`); ValidationError (no such role, or it does not trust the service).
    """
    if role_arn is None:
        return
    tx.services.authorize(tx, caller, "iam:PassRole", role_arn, context=passed_to(PRINCIPAL, stack_id))
    _assumed(tx, caller, role_arn, stack_id)


def acting(tx: Transaction, caller: Caller, blueprint: Blueprint, stack_id: str) -> Caller:
    """Return the principal of an operation that a caller begins: the stack's role if there is one.

    Errors: ValidationError.
    """
    return caller if blueprint.role_arn is None else _assumed(tx, caller, blueprint.role_arn, stack_id)


def _assumed(tx: Transaction, caller: Caller, role_arn: str, stack_id: str) -> Caller:
    try:
        return tx.services.assume_role(
            tx, role_arn, service=PRINCIPAL, session_name=SESSION_NAME, region=caller.region,
            request_id=caller.request_id, source_arn=stack_id,
        )  # fmt: skip
    except ServiceError:
        raise validation_error(f"Role {role_arn} is invalid or cannot be assumed") from None
