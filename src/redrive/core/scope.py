"""The caller of an operation, and its account and region."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """One account in one region: the space in which resource names are unique."""

    account: str
    region: str

    def __str__(self) -> str:
        return f"{self.account}/{self.region}"


ACCOUNTS_KEPT = 1_024
"""Size of the cache of canonical users."""


@functools.lru_cache(maxsize=ACCOUNTS_KEPT)
def canonical_user(account: str) -> str:
    """The id by which S3 knows an account: 64 hexadecimal digits.

    Source: https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-identifiers.html
    """
    return hashlib.sha256(f"canonical user {account}".encode()).hexdigest()


LOCAL_IP = "127.0.0.1"
"""The address of callers who come by no connection, and of most who do."""

ANONYMOUS = "anonymous"
"""The account of a caller who has not signed, where AWS serves such callers: objects and functions that all may use."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an operation.

    With `role_arn`, the caller is a session of that role; with `user_arn`, that IAM user or a session of the user:
    their policies decide. With `service` (`events.amazonaws.com`), an AWS service calls for the resource `source_arn`
    in the account: only the policy of what it calls decides. With none of them, the caller is the account itself,
    which may do everything in the account.
    With `invoked_by` (`cloudformation.amazonaws.com`), that AWS service makes the call for the caller.
    `host` is the host name in the caller's request, for answers that contain URLs. `trace_header` is X-Ray's; empty if
    there is none. `source_ip` is the address from which the request came.
    """

    scope: Scope
    request_id: str
    role_arn: str | None = None
    session_name: str = ""
    host: str = "127.0.0.1:4566"
    user_arn: str | None = None
    trace_header: str = ""
    service: str = ""
    source_arn: str = ""
    invoked_by: str = ""
    source_ip: str = LOCAL_IP

    @property
    def is_account(self) -> bool:
        """Whether the caller is the account itself, its root."""
        return self.role_arn is None and self.user_arn is None and not self.service

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody has signed: only the policy of what is called can allow anything."""
        return self.scope.account == ANONYMOUS

    @property
    def account(self) -> str:
        return self.scope.account

    @property
    def region(self) -> str:
        return self.scope.region

    @property
    def principal_arn(self) -> str:
        """The caller's name in AWS's messages: the account's root, a user, `…:assumed-role/ROLE/SESSION`, a service."""
        if self.service:
            return self.service
        if self.is_anonymous:
            return ANONYMOUS
        if self.role_arn is None:
            return self.user_arn or f"arn:aws:iam::{self.account}:root"
        role_name = self.role_arn.rsplit("/", 1)[-1]
        role_account = self.role_arn.split(":")[4]
        return f"arn:aws:sts::{role_account}:assumed-role/{role_name}/{self.session_name}"
