"""The signatures of messages, and the certificate that they are checked with.

Each store has a key of its own, made when the first message is signed, before the transaction that signs. The key is
random whatever seeds the engine, for the library offers no other way; nothing but signatures follows from it.
Source: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from redrive.core.clock import DAY_MS, SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.delivery.operation import Beforehand
from redrive.delivery.web import CERTIFICATE
from redrive.services.sns.model.envelope import certificate_path, notification, string_to_sign
from redrive.store.api import Transaction

KEY = "sns.key"
KEY_BITS = 2_048
_EXPONENT = 65_537
_VALID_DAYS = 36_500
_FINGERPRINT_DIGITS = 32
_EVERYWHERE = Scope("sns", "all")

_made: deque[rsa.RSAPrivateKey] = deque()
"""Keys that no store has taken yet: one for each operation that runs between its two calls."""


@dataclass(frozen=True, slots=True)
class SigningCertificate:
    """Which certificate the store signs with. It is a resource, because resources are cached and facts are not."""

    KIND: ClassVar[str] = "sns.certificate"
    NAME: ClassVar[str] = "signing"

    fingerprint: str

    @property
    def name(self) -> str:
        """The name of the only document."""
        return self.NAME


class _Signer(NamedTuple):
    """The store's key, and the path below which the server serves its certificate."""

    key: rsa.RSAPrivateKey
    path: str


def work_before_signing(tx: Transaction) -> Beforehand | None:
    """The search for the store's key, which takes long; None if there is a key."""
    if tx.resources.get(SigningCertificate, _EVERYWHERE, SigningCertificate.NAME) is not None:
        return None
    return None if _made or tx.facts.get(KEY) is not None else Beforehand(_make)


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
    signed = _signer(tx).key.sign(string_to_sign(envelope), padding.PKCS1v15(), algorithm)
    return base64.b64encode(signed).decode()


def certificate_url(tx: Transaction, host: str) -> str:
    """Where this server serves the certificate."""
    return f"http://{host}{_signer(tx).path}"


@functools.lru_cache(maxsize=64)
def fingerprint_of(certificate: bytes) -> str:
    """What tells certificates apart in their URLs."""
    digest = x509.load_pem_x509_certificate(certificate).fingerprint(hashes.SHA256())
    return digest.hex()[:_FINGERPRINT_DIGITS]


def _signer(tx: Transaction) -> _Signer:
    """The store's key. The first signature stores one."""
    known = tx.resources.get(SigningCertificate, _EVERYWHERE, SigningCertificate.NAME)
    if known is None:
        known = _introduced(tx)
    found = tx.resources.memo.get((SigningCertificate.KIND, known.fingerprint))
    if found is None:
        pem = tx.facts.get(KEY)
        assert pem is not None, "a key is stored before its certificate is known"
        key = cast(rsa.RSAPrivateKey, serialization.load_pem_private_key(pem, None))
        found = _Signer(key, certificate_path(known.fingerprint))
        tx.resources.memo.put((SigningCertificate.KIND, known.fingerprint), found)
    return cast(_Signer, found)


def _introduced(tx: Transaction) -> SigningCertificate:
    """Make the store's certificate known; first make it, with its key, if there is none. A reset keeps both."""
    tx.be_alone()
    certificate = tx.facts.get(CERTIFICATE)
    if tx.facts.get(KEY) is None or certificate is None:
        if not _made:
            _make()
        key = _made.popleft()
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )  # fmt: skip
        certificate = _certificate(key, tx.now)
        tx.facts.set(KEY, pem)
        tx.facts.set(CERTIFICATE, certificate)
        tx.facts.set(f"{CERTIFICATE}{certificate_path(fingerprint_of(certificate))}", certificate)
    made = SigningCertificate(fingerprint_of(certificate))
    tx.resources.put(_EVERYWHERE, made)
    return made


def _make() -> None:
    _made.append(rsa.generate_private_key(_EXPONENT, KEY_BITS))


def _certificate(key: rsa.RSAPrivateKey, now: Instant) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    at = dt.datetime.fromtimestamp((now - DAY_MS) / SECOND_MS, dt.UTC)
    builder = x509.CertificateBuilder(
        issuer_name=name, subject_name=name, public_key=key.public_key(), serial_number=now,
        not_valid_before=at, not_valid_after=at + dt.timedelta(days=_VALID_DAYS),
    )  # fmt: skip
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
