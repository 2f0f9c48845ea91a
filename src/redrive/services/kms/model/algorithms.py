"""Asymmetric encryption, signatures and message authentication codes, by the names of KMS's algorithms.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/symm-asymm-choose-key-spec.html
"""

from __future__ import annotations

import hmac

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from redrive.services.kms.model.requests import invalid, invalid_ciphertext
from redrive.services.kms.model.secrets import PrivateKey

_HASHES: dict[str, type[hashes.HashAlgorithm]] = {
    "SHA_1": hashes.SHA1,
    "SHA_256": hashes.SHA256,
    "SHA_384": hashes.SHA384,
    "SHA_512": hashes.SHA512,
}


def encrypt(private: PrivateKey, algorithm: str, plaintext: bytes) -> bytes:
    """Encrypt with the public half of an RSA key."""
    assert isinstance(private, rsa.RSAPrivateKey), "only RSA keys encrypt"
    return private.public_key().encrypt(plaintext, _oaep(algorithm))


def decrypt(private: PrivateKey, algorithm: str, ciphertext: bytes) -> bytes:
    """Decrypt with an RSA key. Errors: InvalidCiphertextException."""
    assert isinstance(private, rsa.RSAPrivateKey), "only RSA keys encrypt"
    try:
        return private.decrypt(ciphertext, _oaep(algorithm))
    except ValueError:
        raise invalid_ciphertext() from None


def sign(private: PrivateKey, algorithm: str, message: bytes, *, is_digest: bool) -> bytes:
    """Sign a message, or its digest. Errors: ValidationException (a digest of another length)."""
    digest = _digest(algorithm, message, is_digest=is_digest)
    hashed = Prehashed(_hash(algorithm))
    if isinstance(private, ec.EllipticCurvePrivateKey):
        return private.sign(digest, ec.ECDSA(hashed))
    return private.sign(digest, _signature_padding(algorithm), hashed)


def verify(private: PrivateKey, algorithm: str, message: bytes, signature: bytes, *, is_digest: bool) -> bool:
    """Whether a signature is that of a message. Errors: ValidationException (a digest of another length)."""
    digest = _digest(algorithm, message, is_digest=is_digest)
    hashed = Prehashed(_hash(algorithm))
    try:
        if isinstance(private, ec.EllipticCurvePrivateKey):
            private.public_key().verify(signature, digest, ec.ECDSA(hashed))
        else:
            private.public_key().verify(signature, digest, _signature_padding(algorithm), hashed)
    except InvalidSignature:
        return False
    return True


def authentication_code(secret: bytes, algorithm: str, message: bytes) -> bytes:
    """Return the HMAC of a message: `HMAC_SHA_256` …"""
    return hmac.digest(secret, message, algorithm.removeprefix("HMAC_").replace("_", "").lower())


def _hash(algorithm: str) -> hashes.HashAlgorithm:
    return _HASHES["_".join(algorithm.split("_")[-2:])]()


def _oaep(algorithm: str) -> padding.OAEP:
    chosen = _hash(algorithm)
    return padding.OAEP(mgf=padding.MGF1(algorithm=chosen), algorithm=chosen, label=None)


def _signature_padding(algorithm: str) -> padding.PSS | padding.PKCS1v15:
    if not algorithm.startswith("RSASSA_PSS"):
        return padding.PKCS1v15()
    return padding.PSS(mgf=padding.MGF1(_hash(algorithm)), salt_length=padding.PSS.DIGEST_LENGTH)


def _digest(algorithm: str, message: bytes, *, is_digest: bool) -> bytes:
    chosen = _hash(algorithm)
    if not is_digest:
        digesting = hashes.Hash(chosen)
        digesting.update(message)
        return digesting.finalize()
    if len(message) != chosen.digest_size:
        raise invalid("Digest is invalid length for algorithm " + algorithm + ".")
    return message


def is_same_code(one: bytes, other: bytes) -> bool:
    """Whether two message authentication codes are the same. The comparison takes as long for all of them."""
    return hmac.compare_digest(one, other)
