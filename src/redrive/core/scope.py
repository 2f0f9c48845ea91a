"""Who calls, and for which account and region."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """One account in one region: the space in which resource names are unique."""

    account: str
    region: str

    def __str__(self) -> str:
        return f"{self.account}/{self.region}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call.

    `role_arn` is None for the account itself (any credentials of a user: everything is allowed); otherwise the caller
    is a session of that role, and the role's policies decide. `host` is the host name by which the caller reached us,
    for answers that contain URLs.
    """

    scope: Scope
    request_id: str
    role_arn: str | None = None
    session_name: str = ""
    host: str = "127.0.0.1:4566"

    @property
    def account(self) -> str:
        return self.scope.account

    @property
    def region(self) -> str:
        return self.scope.region

    @property
    def principal_arn(self) -> str:
        """The caller as AWS's messages name it: the account's root, or `…:assumed-role/ROLE/SESSION`."""
        if self.role_arn is None:
            return f"arn:aws:iam::{self.account}:root"
        role_name = self.role_arn.rsplit("/", 1)[-1]
        role_account = self.role_arn.split(":")[4]
        return f"arn:aws:sts::{role_account}:assumed-role/{role_name}/{self.session_name}"
