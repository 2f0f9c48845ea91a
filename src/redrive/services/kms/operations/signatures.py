"""The operations that sign and verify, and the public halves of keys."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.kms.access import authorize_key
from redrive.services.kms.lookup import Found, find_key
from redrive.services.kms.model import algorithms
from redrive.services.kms.model.requests import end_dry_run, unsupported
from redrive.services.kms.model.secrets import PrivateKey, Secrets, public_bytes
from redrive.services.kms.model.specs import GENERATE_VERIFY_MAC, SIGN_VERIFY
from redrive.store.api import Transaction


@operation("GetPublicKey")
def get_public_key(
    tx: Transaction,
    caller: Caller,
    *,
    key_id: str,
    grant_tokens: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:
    """Return the public half of an asymmetric key.

    Errors: NotFoundException; UnsupportedOperationException (no asymmetric key); DisabledException;
    KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GetPublicKey.html
    """
    found = find_key(tx, caller, key_id)
    authorize_key(tx, caller, "GetPublicKey", found)
    found.key.check_enabled(found.scope)
    spec = found.key.spec
    if not spec.is_asymmetric:
        raise unsupported(f"{found.arn} is not an asymmetric KMS key.")
    return {
        "KeyId": found.arn,
        "PublicKey": public_bytes(_private(tx, found)),
        "CustomerMasterKeySpec": spec.name,
        "KeySpec": spec.name,
        "KeyUsage": found.key.usage,
        **spec.algorithms(found.key.usage),
    }


@operation("Sign")
def sign(
    tx: Transaction, caller: Caller, *, key_id: str, message: bytes, signing_algorithm: str,
    message_type: str | None = None, grant_tokens: Sequence[str] | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Sign a message of up to 4,096 bytes, or the digest of a longer one.

    Errors: NotFoundException; InvalidKeyUsageException; ValidationException (a digest of another length);
    DisabledException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html
    """
    found = _usable(tx, caller, key_id, "Sign", SIGN_VERIFY, signing_algorithm)
    end_dry_run(dry_run)
    signature = algorithms.sign(_private(tx, found), signing_algorithm, message, is_digest=_is_digest(message_type))
    return {"KeyId": found.arn, "Signature": signature, "SigningAlgorithm": signing_algorithm}


@operation("Verify")
def verify(
    tx: Transaction, caller: Caller, *, key_id: str, message: bytes, signature: bytes, signing_algorithm: str,
    message_type: str | None = None, grant_tokens: Sequence[str] | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Verify a signature.

    Errors: KMSInvalidSignatureException; and those of Sign.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Verify.html
    """
    found = _usable(tx, caller, key_id, "Verify", SIGN_VERIFY, signing_algorithm)
    end_dry_run(dry_run)
    private = _private(tx, found)
    if not algorithms.verify(private, signing_algorithm, message, signature, is_digest=_is_digest(message_type)):
        raise ServiceError("KMSInvalidSignatureException", "")
    return {"KeyId": found.arn, "SignatureValid": True, "SigningAlgorithm": signing_algorithm}


@operation("GenerateMac")
def generate_mac(
    tx: Transaction, caller: Caller, *, message: bytes, key_id: str, mac_algorithm: str,
    grant_tokens: Sequence[str] | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Return the message authentication code of a message.

    Errors: NotFoundException; InvalidKeyUsageException; DisabledException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GenerateMac.html
    """
    found = _usable(tx, caller, key_id, "GenerateMac", GENERATE_VERIFY_MAC, mac_algorithm)
    end_dry_run(dry_run)
    code = _code(tx, found, mac_algorithm, message)
    return {"Mac": code, "MacAlgorithm": mac_algorithm, "KeyId": found.arn}


@operation("VerifyMac")
def verify_mac(
    tx: Transaction, caller: Caller, *, message: bytes, key_id: str, mac_algorithm: str, mac: bytes,
    grant_tokens: Sequence[str] | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Verify the message authentication code of a message.

    Errors: KMSInvalidMacException; and those of GenerateMac.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_VerifyMac.html
    """
    found = _usable(tx, caller, key_id, "VerifyMac", GENERATE_VERIFY_MAC, mac_algorithm)
    end_dry_run(dry_run)
    if not algorithms.is_same_code(_code(tx, found, mac_algorithm, message), mac):
        raise ServiceError("KMSInvalidMacException", "")
    return {"KeyId": found.arn, "MacValid": True, "MacAlgorithm": mac_algorithm}


def _usable(tx: Transaction, caller: Caller, key_id: str, name: str, usage: str, algorithm: str) -> Found:
    found = find_key(tx, caller, key_id)
    authorize_key(tx, caller, name, found)
    found.key.check_enabled(found.scope)
    found.key.check_usage(found.scope, usage, name)
    if algorithm not in (*found.key.spec.signing, *found.key.spec.mac):
        message = f"Algorithm {algorithm} is incompatible with key spec {found.key.spec_name}."
        raise ServiceError("InvalidKeyUsageException", message)
    return found


def _private(tx: Transaction, found: Found) -> PrivateKey:
    return Secrets(tx.facts.secret()).unwrap(found.key.id, found.key.wrapped)


def _code(tx: Transaction, found: Found, algorithm: str, message: bytes) -> bytes:
    key = found.key
    secret = Secrets(tx.facts.secret()).mac(key.id, key.material.id, key.spec.bits)
    return algorithms.authentication_code(secret, algorithm, message)


def _is_digest(message_type: str | None) -> bool:
    """Whether the message is a digest. Errors: UnsupportedOperationException for AWS's third type."""
    if message_type == "EXTERNAL_MU":
        raise unsupported("redrive does not serve the message type EXTERNAL_MU.")
    return message_type == "DIGEST"
