"""Sessions and their credentials. No transaction, no clock."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.core.sessions import TemporaryCredentials


def own_principal(caller: Caller) -> str:
    """Return the principal of a caller's own temporary credentials: the user, or the account's root."""
    return caller.user_arn or f"arn:aws:iam::{caller.account}:root"


def described(credentials: TemporaryCredentials) -> Document:
    """Temporary credentials in AWS's form."""
    return {
        "AccessKeyId": credentials.access_key_id,
        "SecretAccessKey": credentials.secret_access_key,
        "SessionToken": credentials.session_token,
        "Expiration": credentials.expires_at,
    }


def assumed_role_arn(role_arn: str, session_name: str) -> str:
    """Return the ARN of a role's session, which does not contain the role's path."""
    account, role_name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    return f"arn:aws:sts::{account}:assumed-role/{role_name}/{session_name}"
