"""The secrets of keys, and how they follow from the store's secret.

The secret of a symmetric key or of an HMAC key is derived from the store's secret, the key's id, and the random id of
its generation; it is stored nowhere. A private key is random, and stored encrypted under a key that is derived too.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)

from redrive.services.kms import limits
from redrive.services.kms.model.ciphertext import NONCE_BYTES
from redrive.services.kms.model.specs import KeySpec

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_RSA_EXPONENT = 65_537
_CURVES: dict[str, type[ec.EllipticCurve]] = {
    "secp256k1": ec.SECP256K1,
    "secp256r1": ec.SECP256R1,
    "secp384r1": ec.SECP384R1,
    "secp521r1": ec.SECP521R1,
}


@dataclass(frozen=True, slots=True)
class Secrets:
    """Derives the secrets of keys from the store's secret."""

    store_secret: bytes = field(repr=False)

    def symmetric(self, key_id: str, material_id: str) -> bytes:
        """The 256 bits of a generation of a symmetric key."""
        return self._derived("kms symmetric", key_id, material_id)[:32]

    def mac(self, key_id: str, material_id: str, bits: int) -> bytes:
        """The bits of an HMAC key."""
        return self._derived("kms mac", key_id, material_id)[: bits // 8]

    def wrap(self, key_id: str, nonce: bytes, private: PrivateKey) -> str:
        """Encrypt a private key, for the store."""
        plain = private_bytes(private)
        return base64.b64encode(nonce + AESGCM(self._wrapping(key_id)).encrypt(nonce, plain, key_id.encode())).decode()

    def unwrap(self, key_id: str, wrapped: str) -> PrivateKey:
        """Read a private key from the store."""
        return _unwrap(self._wrapping(key_id), key_id, wrapped)

    def _wrapping(self, key_id: str) -> bytes:
        return self._derived("kms wrapping", key_id)[:32]

    def _derived(self, purpose: str, *fields: str) -> bytes:
        return hmac.digest(self.store_secret, "\n".join((purpose, *fields)).encode(), hashlib.sha512)


@functools.lru_cache(limits.UNWRAPPED_KEPT)
def _unwrap(wrapping: bytes, key_id: str, wrapped: str) -> PrivateKey:
    content = base64.b64decode(wrapped)
    plain = AESGCM(wrapping).decrypt(content[:NONCE_BYTES], content[NONCE_BYTES:], key_id.encode())
    private = load_der_private_key(plain, password=None)
    assert isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey), "no other keys are wrapped"
    return private


def new_private_key(spec: KeySpec) -> PrivateKey:
    """Return a new private key. Its bits are the operating system's: the library takes no other source for RSA."""
    if spec.curve:
        return ec.generate_private_key(_CURVES[spec.curve]())
    return rsa.generate_private_key(_RSA_EXPONENT, spec.bits)


def private_bytes(private: PrivateKey) -> bytes:
    """Return a private key as PKCS #8 in DER."""
    return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def public_bytes(private: PrivateKey) -> bytes:
    """Return the public half of a key as SubjectPublicKeyInfo in DER."""
    return private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
