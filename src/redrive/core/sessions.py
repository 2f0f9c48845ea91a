"""Access keys, their secrets, and session tokens that only this store can create.

All of them derive from one secret of the store, so a request can be verified without reading the store:

    access key id      AKIA…, contains a code that proves that this store issued it
    secret access key  an HMAC of the access key id
    session token      principal, session name, access key id and expiry, with an HMAC over them

The store holds whether a key is still active, and what its owner may do. This module must not know it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy

USER_KEY_PREFIX = "AKIA"
SESSION_KEY_PREFIX = "ASIA"

NEVER: Instant = 253_402_300_799_000
"""The last second of the year 9999, for sessions that do not expire."""

KEYS_REMEMBERED_MAX = 1_000

_TOKEN_PREFIX = "redrive1"
_MAC_LENGTH = 32
_KEY_NONCE_LENGTH = 6


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a principal: of a role, of a user, or of an account's root (`…:root`)."""

    principal_arn: str
    session_name: str
    access_key_id: str
    expires_at: Instant

    @property
    def account(self) -> str:
        return self.principal_arn.split(":")[4]


@dataclass(frozen=True, slots=True)
class TemporaryCredentials:
    """The credentials of a session, for a program."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False)
    expires_at: Instant


def is_own_token(token: str) -> bool:
    """Whether a session token has redrive's format. `Issuer.session` checks whether the token is genuine."""
    return token.startswith(_TOKEN_PREFIX)


class Issuer:
    """Issues keys and tokens, and recognises its own."""

    def __init__(self, secret: bytes) -> None:
        """`secret` is the store's. Anybody who knows it can act as any principal."""
        self._secret = secret
        # Cached, because clients send the same key and token with every request.
        self.session = functools.lru_cache(KEYS_REMEMBERED_MAX)(self._session)
        self.secret_of = functools.lru_cache(KEYS_REMEMBERED_MAX)(self._secret_of)
        self.gave = functools.lru_cache(KEYS_REMEMBERED_MAX)(self._gave)

    def new_access_key_id(self, entropy: Entropy) -> str:
        """A new `AKIA…` id of 20 characters."""
        nonce = bytes.fromhex(entropy.hex(2 * _KEY_NONCE_LENGTH))
        return USER_KEY_PREFIX + base64.b32encode(nonce + self._code_of(nonce)).decode()

    def new_session(self, principal_arn: str, session_name: str, entropy: Entropy, expires_at: Instant) -> Session:
        """A session with a new key."""
        key_id = SESSION_KEY_PREFIX + base64.b32encode(bytes.fromhex(entropy.hex(20))).decode()
        return Session(principal_arn, session_name, key_id, expires_at)

    def same_session(self, principal_arn: str, session_name: str, expires_at: Instant) -> Session:
        """A session whose key derives from the arguments: equal arguments give the same key."""
        digest = self._mac("session", principal_arn, session_name, str(expires_at))
        return Session(
            principal_arn, session_name, SESSION_KEY_PREFIX + base64.b32encode(digest[:10]).decode(), expires_at
        )

    def credentials(self, session: Session) -> TemporaryCredentials:
        """The credentials of a session."""
        fields = _fields(session)
        content = self._mac("token", *fields) + "\n".join(fields).encode()
        token = _TOKEN_PREFIX + base64.urlsafe_b64encode(content).decode()
        return TemporaryCredentials(
            session.access_key_id, self.secret_of(session.access_key_id), token, session.expires_at
        )

    def sign_path(self, path: str, expires_at: Instant) -> str:
        """The signature for a URL path and its expiry. Requests for the path need it, until the expiry."""
        return base64.urlsafe_b64encode(self._mac("path", path, str(expires_at))).decode().rstrip("=")

    def _session(self, token: str, access_key_id: str) -> Session | None:
        """The session of a genuine token with its own access key; None for any other token.

        The caller must check the expiry.
        """
        try:
            content = base64.urlsafe_b64decode(token.removeprefix(_TOKEN_PREFIX).encode())
            fields = content[_MAC_LENGTH:].decode().split("\n")
        except ValueError:
            return None
        is_genuine = hmac.compare_digest(content[:_MAC_LENGTH], self._mac("token", *fields))
        # Base64 has unused bits at its end, so several texts decode to the same bytes. Only one is valid.
        is_canonical = token == _TOKEN_PREFIX + base64.urlsafe_b64encode(content).decode()
        if not (is_own_token(token) and is_genuine and is_canonical and fields[2] == access_key_id):
            return None
        return Session(fields[0], fields[1], fields[2], int(fields[3]))

    def _secret_of(self, access_key_id: str) -> str:
        """The secret access key of an access key id: 40 characters."""
        return base64.b64encode(self._mac("secret", access_key_id)[:30]).decode()

    def _gave(self, access_key_id: str) -> bool:
        """Whether this issuer created this access key id for a user. The key may be deleted since."""
        if not access_key_id.startswith(USER_KEY_PREFIX):
            return False
        try:
            content = base64.b32decode(access_key_id.removeprefix(USER_KEY_PREFIX))
        except ValueError:
            return False
        nonce, code = content[:_KEY_NONCE_LENGTH], content[_KEY_NONCE_LENGTH:]
        return hmac.compare_digest(code, self._code_of(nonce))

    def _code_of(self, nonce: bytes) -> bytes:
        return self._mac("access key", nonce.hex())[:4]

    def _mac(self, purpose: str, *fields: str) -> bytes:
        """An HMAC over fields without line breaks. `purpose` separates HMACs of different uses."""
        return hmac.digest(self._secret, "\n".join((purpose, *fields)).encode(), hashlib.sha256)


def _fields(session: Session) -> Sequence[str]:
    return (session.principal_arn, session.session_name, session.access_key_id, str(session.expires_at))
