"""Sessions and their credentials. No transaction, no clock."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.entropy import Entropy
from redrive.core.sessions import Session, encode_session


def account_session(account: str) -> Session:
    """The session by which an account's own credentials are made temporary: that of its root."""
    return Session(f"arn:aws:iam::{account}:root", "")


def credentials(session: Session, entropy: Entropy, now: Instant, duration_s: int) -> Document:
    """Temporary credentials of a session: the token says whose they are, the keys only look the part."""
    return {
        "AccessKeyId": f"ASIA{entropy.hex(16).upper()}",
        "SecretAccessKey": entropy.hex(40),
        "SessionToken": encode_session(session),
        "Expiration": now + duration_s * SECOND_MS,
    }


def assumed_role_arn(session: Session) -> str:
    """The ARN of a role's session; the role's path is not in it."""
    account, role_name = session.role_arn.split(":")[4], session.role_arn.rsplit("/", 1)[-1]
    return f"arn:aws:sts::{account}:assumed-role/{role_name}/{session.session_name}"
