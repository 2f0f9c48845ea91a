"""Session tokens of assumed roles: they carry the role in plain sight, so that no node has to look one up.

The engine does not verify signatures (see docs/semantics/identity.md), so a token is a statement, not a proof.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

_PREFIX = "redrive"


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a role."""

    role_arn: str
    session_name: str


def encode_session(session: Session) -> str:
    """The `AWS_SESSION_TOKEN` of a session."""
    text = f"{_PREFIX}\n{session.role_arn}\n{session.session_name}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def decode_session(token: str) -> Session | None:
    """The session that a token of ours stands for; None for anybody else's token."""
    try:
        prefix, role_arn, session_name = base64.urlsafe_b64decode(token.encode()).decode().split("\n")
    except ValueError:
        return None
    return Session(role_arn, session_name) if prefix == _PREFIX else None
