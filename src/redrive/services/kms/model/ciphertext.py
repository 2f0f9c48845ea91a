"""The ciphertexts of symmetric keys: AES-256-GCM, with a header that names the key and its generation.

    version 1 byte · key id 16 bytes · generation 32 bytes · nonce 12 bytes · encrypted text with its tag of 16 bytes

The header and the encryption context are authenticated. The layout is ours: AWS's is opaque.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from redrive.services.kms.model.requests import invalid_ciphertext

NONCE_BYTES = 12
_PLAIN, _MULTI_REGION = 1, 2
_MULTI_REGION_PREFIX = "mrk-"
_HEADER = struct.Struct(f">B16s32s{NONCE_BYTES}s")
_TAG_BYTES = 16


@dataclass(frozen=True, slots=True)
class Ciphertext:
    """The parts of a ciphertext."""

    key_id: str
    material_id: str
    nonce: bytes
    sealed: bytes

    @property
    def header(self) -> bytes:
        is_multi_region = self.key_id.startswith(_MULTI_REGION_PREFIX)
        digits = self.key_id.removeprefix(_MULTI_REGION_PREFIX).replace("-", "")
        return _HEADER.pack(
            _MULTI_REGION if is_multi_region else _PLAIN, bytes.fromhex(digits), bytes.fromhex(self.material_id),
            self.nonce,
        )  # fmt: skip

    @property
    def blob(self) -> bytes:
        return self.header + self.sealed


def read_ciphertext(blob: bytes) -> Ciphertext:
    """Return the parts of a ciphertext. Errors: InvalidCiphertextException."""
    if len(blob) < _HEADER.size + _TAG_BYTES or blob[0] not in (_PLAIN, _MULTI_REGION):
        raise invalid_ciphertext()
    version, key, material, nonce = _HEADER.unpack_from(blob)
    return Ciphertext(_key_id(version, key.hex()), material.hex(), nonce, blob[_HEADER.size :])


def seal(
    secret: bytes, key_id: str, material_id: str, nonce: bytes, plaintext: bytes, context: Mapping[str, str]
) -> bytes:
    """Encrypt a text under a generation of a key. A nonce must never be used twice with the same secret."""
    parts = Ciphertext(key_id, material_id, nonce, b"")
    sealed = AESGCM(secret).encrypt(nonce, plaintext, parts.header + canonical(context))
    return parts.header + sealed


def unseal(secret: bytes, parts: Ciphertext, context: Mapping[str, str]) -> bytes:
    """Decrypt a ciphertext. Errors: InvalidCiphertextException (damaged, or another encryption context)."""
    try:
        return AESGCM(secret).decrypt(parts.nonce, parts.sealed, parts.header + canonical(context))
    except InvalidTag:
        raise invalid_ciphertext() from None


def canonical(context: Mapping[str, str]) -> bytes:
    """Return an encryption context as bytes: the same for every order of its pairs, other for every other context."""
    pairs = [text.encode() for key in sorted(context) for text in (key, context[key])]
    return b"".join(len(text).to_bytes(4, "big") + text for text in pairs)


def _key_id(version: int, digits: str) -> str:
    if version == _MULTI_REGION:
        return f"{_MULTI_REGION_PREFIX}{digits}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
