"""The signatures of messages, and the certificate that they are checked with.

Each store has a key of its own, made when the first message is signed. The key is random whatever seeds the engine, for
the library offers no other way; nothing but signatures follows from it.
Source: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
from collections.abc import Iterable, Mapping
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from redrive.core.clock import DAY_MS, SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.delivery.web import CERTIFICATE
from redrive.services.sns.model.envelope import certificate_path, notification, string_to_sign
from redrive.store.api import Transaction

KEY = "sns.key"
KEY_BITS = 2_048
_EXPONENT = 65_537
_VALID_DAYS = 36_500
_FINGERPRINT_DIGITS = 32


def signature_of(tx: Transaction, message: Mapping[str, object], version: str, protocols: Iterable[str]) -> Document:
    """The signatures of a message, by protocol where MessageStructure json makes the texts differ."""
    host = str(message.get("host", ""))
    texts = message.get("texts")
    wanted = ["default", *(one for one in protocols if isinstance(texts, dict) and one in texts)]
    signed = {one: sign(tx, notification(message, one, host, ""), version) for one in wanted}
    return {"version": version, "url": certificate_url(tx, host), "texts": signed}


def sign(tx: Transaction, envelope: Mapping[str, object], version: str) -> str:
    """The signature of an envelope in base64: SHA-1 for version 1, SHA-256 for version 2."""
    algorithm = hashes.SHA256() if version == "2" else hashes.SHA1()  # noqa: S303 - AWS's version 1 is SHA-1.
    key = _key(_key_of(tx))
    return base64.b64encode(key.sign(string_to_sign(envelope), padding.PKCS1v15(), algorithm)).decode()


def certificate_url(tx: Transaction, host: str) -> str:
    """Where this server serves the certificate."""
    _key_of(tx)
    certificate = tx.facts.get(CERTIFICATE)
    assert certificate is not None, "a key is stored together with its certificate"
    return f"http://{host}{certificate_path(fingerprint_of(certificate))}"


@functools.lru_cache(maxsize=64)
def fingerprint_of(certificate: bytes) -> str:
    """What tells certificates apart in their URLs."""
    digest = x509.load_pem_x509_certificate(certificate).fingerprint(hashes.SHA256())
    return digest.hex()[:_FINGERPRINT_DIGITS]


@functools.lru_cache(maxsize=64)
def _key(pem: bytes) -> rsa.RSAPrivateKey:
    return cast(rsa.RSAPrivateKey, serialization.load_pem_private_key(pem, None))


def _key_of(tx: Transaction) -> bytes:
    """The store's key; made, and stored with its certificate, if there is none yet."""
    found = tx.facts.get(KEY)
    if found is not None:
        return found
    tx.be_alone()
    found = tx.facts.get(KEY)
    if found is not None:
        return found
    key = rsa.generate_private_key(_EXPONENT, KEY_BITS)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )  # fmt: skip
    tx.facts.set(KEY, pem)
    certificate = _certificate(key, tx.now)
    tx.facts.set(CERTIFICATE, certificate)
    tx.facts.set(f"{CERTIFICATE}{certificate_path(fingerprint_of(certificate))}", certificate)
    return pem


def _certificate(key: rsa.RSAPrivateKey, now: Instant) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    at = dt.datetime.fromtimestamp((now - DAY_MS) / SECOND_MS, dt.UTC)
    builder = x509.CertificateBuilder(
        issuer_name=name, subject_name=name, public_key=key.public_key(), serial_number=now,
        not_valid_before=at, not_valid_after=at + dt.timedelta(days=_VALID_DAYS),
    )  # fmt: skip
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
