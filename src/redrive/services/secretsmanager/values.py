"""The values of versions: how they are stored, read, and dropped."""

from __future__ import annotations

import base64
import hmac
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.sealing import Seal
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.finding import Found
from redrive.services.secretsmanager.model.requests import invalid_parameter, not_found
from redrive.services.secretsmanager.model.secret import (
    CURRENT,
    DEFAULT_KEY,
    DELETION_TIMER,
    ROTATION_TIMER,
    Secret,
    Value,
    Version,
    staged,
    timer_name,
    trimmed,
    value_key,
)
from redrive.store.api import Transaction

_SEAL = Seal("secretsmanager.amazonaws.com")


def given_value(text: str | None, content: bytes | None) -> bytes | str | None:
    """Return the value in a request. Errors: InvalidParameterException (two values; too large)."""
    if text is not None and content is not None:
        raise invalid_parameter(
            "You can't specify both a binary secret value and a string secret value in the same secret."
        )
    value = text if text is not None else content
    if value is not None and len(value.encode() if isinstance(value, str) else value) > limits.VALUE_BYTES_MAX:
        raise invalid_parameter(f"A secret value has {limits.VALUE_BYTES_MAX} bytes at most.")
    return value


def add_version(
    tx: Transaction, caller: Caller, found: Found, token: str | None, value: bytes | str, stages: tuple[str, ...]
) -> tuple[Found, str]:
    """Store a value as a version with these stages. The same value under the same token is stored once.

    Errors: ResourceExistsException (another value under the token); EncryptionFailure; AccessDeniedException.
    """
    secret, version_id = found.secret, token or new_uuid(tx.entropy)
    known = secret.version(version_id)
    if known is not None and known.has_value:
        if not _is_same(read_value(tx, caller, found, known), value):
            raise ServiceError(
                "ResourceExistsException",
                f"You can't modify the version {version_id}: it exists already with another value.",
            )
        return found, version_id
    if all(CURRENT not in version.stages for version in secret.versions):
        stages = (*stages, CURRENT)
    _store(tx, caller, found, version_id, value)
    if known is None:
        versions = (*secret.versions, Version(version_id, tx.now, ()))
    else:
        versions = tuple(replace(one, has_value=True) if one.id == version_id else one for one in secret.versions)
    kept, dropped = trimmed(staged(versions, version_id, stages))
    for old in dropped:
        tx.resources.delete(Value, found.scope, value_key(secret.uid, old))
    changed = Found(found.scope, replace(secret, versions=kept, changed_at=tx.now))
    tx.resources.put(changed.scope, changed.secret)
    return changed, version_id


def read_value(tx: Transaction, caller: Caller, found: Found, version: Version) -> bytes | str:
    """Return the value of a version. Errors: ResourceNotFoundException; DecryptionFailure; AccessDeniedException."""
    stored = tx.resources.get(Value, found.scope, value_key(found.secret.uid, version.id))
    if stored is None:
        raise not_found(f"the specified secret value for VersionId: {version.id}")
    try:
        content = _SEAL.open(tx, caller, _context(found, version.id), base64.b64decode(stored.sealed))
    except ServiceError as error:
        raise _told(error, "DecryptionFailure") from None
    return content if stored.is_binary else content.decode()


def encrypt_again(tx: Transaction, caller: Caller, before: Found, after: Found) -> None:
    """Encrypt the values that have stages under the key that the secret has now. Errors: as of the two above."""
    for version in before.secret.versions:
        if version.stages and version.has_value:
            _store(tx, caller, after, version.id, read_value(tx, caller, before, version))


def shown_value(value: bytes | str) -> Document:
    """Return a value as answers show it."""
    return {"SecretString": value} if isinstance(value, str) else {"SecretBinary": value}


def forget(tx: Transaction, found: Found) -> None:
    """Delete a secret with its values."""
    for version in found.secret.versions:
        tx.resources.delete(Value, found.scope, value_key(found.secret.uid, version.id))
    tx.resources.delete(Secret, found.scope, found.secret.name)
    timer = timer_name(found.scope, found.secret.name)
    tx.timers.clear(DELETION_TIMER, timer)
    tx.timers.clear(ROTATION_TIMER, timer)


def _store(tx: Transaction, caller: Caller, found: Found, version_id: str, value: bytes | str) -> None:
    plain = value.encode() if isinstance(value, str) else value
    key_id = found.secret.kms_key_id or DEFAULT_KEY
    try:
        sealed = _SEAL.seal(tx, caller, key_id, _context(found, version_id), plain)
    except ServiceError as error:
        raise _told(error, "EncryptionFailure") from None
    text = base64.b64encode(sealed).decode()
    tx.resources.put(found.scope, Value(found.secret.uid, version_id, text, isinstance(value, bytes)))


def _context(found: Found, version_id: str) -> dict[str, str]:
    return {"SecretARN": found.arn, "SecretVersionId": version_id}


def _is_same(one: bytes | str, other: bytes | str) -> bool:
    plain = [value.encode() if isinstance(value, str) else value for value in (one, other)]
    return isinstance(one, str) == isinstance(other, str) and hmac.compare_digest(*plain)


def _told(error: ServiceError, code: str) -> ServiceError:
    if error.code == "AccessDeniedException":
        return ServiceError("AccessDeniedException", f"Access to KMS is not allowed: {error.message}")
    return ServiceError(code, f"{error.message} (Service: AWSKMS; Error Code: {error.code})")
