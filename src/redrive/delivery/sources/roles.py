"""Roles that a source assumes: a delivery acts under the role that its resource names."""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.entropy import new_row_id
from redrive.core.scope import Caller
from redrive.store.api import Transaction


class RoleSession(NamedTuple):
    """A role that a service (`principal`, such as `scheduler.amazonaws.com`) assumes for one of its resources."""

    role_arn: str
    principal: str
    session_name: str
    source_arn: str

    def caller(self, tx: Transaction, region: str, *, request_id: str | None = None) -> Caller:
        """The caller for a region. `request_id` is new if None.

        Errors: ServiceError AccessDenied (the role does not exist, or its trust policy refuses).
        """
        return tx.services.assume_role(
            tx, self.role_arn, service=self.principal, session_name=self.session_name, region=region,
            request_id=new_row_id(tx.entropy, tx.now) if request_id is None else request_id, source_arn=self.source_arn,
        )  # fmt: skip
