"""Values that services hold at rest: encrypted under a data key of KMS, which is kept beside the value.

Two services hold such values, and neither may know the other. Texts of up to 4,096 bytes could be encrypted by KMS
itself; a data key takes texts of every length. Import this module only where a value is sealed or opened: the library
takes a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from redrive.core.scope import Caller
from redrive.store.api import Transaction

_NONCE_BYTES = 12
_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Seal:
    """Who seals and opens values: a service (`ssm.amazonaws.com`), for its caller, whose permissions count."""

    service: str

    def seal(self, tx: Transaction, caller: Caller, key_id: str, context: Mapping[str, str], plaintext: bytes) -> bytes:
        """Encrypt a value under a new data key. Errors: those of KMS's GenerateDataKey."""
        made = tx.services.call(
            tx, self._via(caller), "kms", "GenerateDataKey",
            {"KeyId": key_id, "KeySpec": "AES_256", "EncryptionContext": dict(context)},
        )  # fmt: skip
        wrapped = bytes(made["CiphertextBlob"])
        nonce = bytes.fromhex(tx.entropy.hex(2 * _NONCE_BYTES))
        sealed = AESGCM(made["Plaintext"]).encrypt(nonce, plaintext, wrapped)
        return len(wrapped).to_bytes(_LENGTH_BYTES, "big") + wrapped + nonce + sealed

    def open(self, tx: Transaction, caller: Caller, context: Mapping[str, str], blob: bytes) -> bytes:
        """Decrypt a value. Errors: those of KMS's Decrypt, for example if the key is disabled or the caller may not."""
        start = _LENGTH_BYTES + int.from_bytes(blob[:_LENGTH_BYTES], "big")
        wrapped = blob[_LENGTH_BYTES:start]
        answer = tx.services.call(
            tx, self._via(caller), "kms", "Decrypt", {"CiphertextBlob": wrapped, "EncryptionContext": dict(context)}
        )
        nonce, sealed = blob[start : start + _NONCE_BYTES], blob[start + _NONCE_BYTES :]
        return AESGCM(answer["Plaintext"]).decrypt(nonce, sealed, wrapped)

    def _via(self, caller: Caller) -> Caller:
        return replace(caller, invoked_by=self.service)
