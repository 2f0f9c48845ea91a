"""The port through which services reach each other, bound to the registry and to IAM's rules."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import Outside, OutsideNeeded, Wait
from redrive.engine.registry import Registry
from redrive.languages.iam import Context
from redrive.services.iam import access
from redrive.store.api import NO_CONTEXT, Transaction


class BoundServices:
    """Implements store.api.Services."""

    def __init__(self, registry: Registry, *, limits: Limits = Limits.STRICT) -> None:
        self.limits = limits
        self._registry = registry

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Document:
        """Run an operation in this transaction; what a failing one wrote is undone. Errors: OutsideNeeded, too."""
        with tx.savepoint():
            answer = self._registry.begin(tx, caller, service, operation, params)
        match answer:
            case Wait(result=result):
                return result
            case Outside():
                raise OutsideNeeded(answer)
            case _:
                return answer

    def assume_role(
        self, tx: Transaction, role_arn: str, *, service: str, session_name: str, region: str, request_id: str,
        source_arn: str | None = None,
    ) -> Caller:  # fmt: skip
        """The session of a role that a service assumes."""
        return access.assume_role(
            tx, role_arn, service=service, session_name=session_name, region=region, request_id=request_id,
            source_arn=source_arn,
        )  # fmt: skip

    def authorize(
        self, tx: Transaction, caller: Caller, action: str, resource: str, *, context: Context = NO_CONTEXT,
        policy: str = "",
    ) -> None:  # fmt: skip
        """Refuse what the caller may not do."""
        access.authorize(tx, caller, action, resource, context=context, policy=policy)
