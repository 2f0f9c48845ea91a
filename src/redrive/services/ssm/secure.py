"""Secure strings: how their values are encrypted by KMS, and decrypted for those who may.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/services-parameter-store.html
"""

from __future__ import annotations

import base64
from dataclasses import replace

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.sealing import Seal
from redrive.services.ssm.model.names import parameter_arn
from redrive.services.ssm.model.parameter import ADVANCED, SECURE_STRING, Version
from redrive.store.api import Transaction

SERVICE = "ssm.amazonaws.com"
_SEAL = Seal(SERVICE)
_UNUSABLE = frozenset(
    {"NotFoundException", "DisabledException", "KMSInvalidStateException", "InvalidKeyUsageException"}
)


def encrypted(tx: Transaction, caller: Caller, key: str, key_id: str, tier: str, value: str) -> tuple[str, bool]:
    """Return the ciphertext of a value in base64, and whether a data key was used, as for advanced parameters.

    Errors: InvalidKeyId; AccessDeniedException.
    """
    context = {"PARAMETER_ARN": parameter_arn(caller.scope, key)}
    try:
        if tier == ADVANCED:
            return base64.b64encode(_SEAL.seal(tx, caller, key_id, context, value.encode())).decode(), True
        params = {"KeyId": key_id, "Plaintext": value.encode(), "EncryptionContext": context}
        answer = tx.services.call(tx, replace(caller, invoked_by=SERVICE), "kms", "Encrypt", params)
    except ServiceError as error:
        raise _told(error) from None
    return base64.b64encode(answer["CiphertextBlob"]).decode(), False


def value_of(tx: Transaction, caller: Caller, version: Version, *, decrypt: bool) -> str:
    """Return the value of a version; that of a secure string is its ciphertext, unless it is to be decrypted.

    Errors: InvalidKeyId; AccessDeniedException.
    """
    if version.type != SECURE_STRING or not decrypt:
        return version.value
    context = {"PARAMETER_ARN": parameter_arn(caller.scope, version.parameter)}
    blob = base64.b64decode(version.value)
    try:
        if version.is_sealed:
            return _SEAL.open(tx, caller, context, blob).decode()
        params = {"CiphertextBlob": blob, "EncryptionContext": context}
        answer = tx.services.call(tx, replace(caller, invoked_by=SERVICE), "kms", "Decrypt", params)
    except ServiceError as error:
        raise _told(error) from None
    return bytes(answer["Plaintext"]).decode()


def _told(error: ServiceError) -> ServiceError:
    if error.code not in _UNUSABLE:
        return error
    return ServiceError("InvalidKeyId", f"{error.message} (Service: AWSKMS; Error Code: {error.code})")
