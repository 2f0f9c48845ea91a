"""The operations that encrypt and decrypt, and those that make data keys and random bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import Beforehand, operation
from redrive.services.kms.access import NO_PAIRS, authorize_account, authorize_key
from redrive.services.kms.lookup import Found, find_key, key_anywhere
from redrive.services.kms.making import made_key
from redrive.services.kms.model import algorithms
from redrive.services.kms.model.ciphertext import NONCE_BYTES, read_ciphertext, seal, unseal
from redrive.services.kms.model.requests import end_dry_run, invalid, invalid_ciphertext, refuse_recipient
from redrive.services.kms.model.secrets import Secrets, private_bytes, public_bytes
from redrive.services.kms.model.specs import ENCRYPT_DECRYPT, SPECS, SYMMETRIC, plaintext_bytes_max
from redrive.store.api import Transaction

_Pairs = Mapping[str, str]
_DATA_KEY_BYTES = {"AES_128": 16, "AES_256": 32}


@operation("Encrypt")
def encrypt(
    tx: Transaction, caller: Caller, *, key_id: str, plaintext: bytes, encryption_context: _Pairs | None = None,
    grant_tokens: Sequence[str] | None = None, encryption_algorithm: str | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Encrypt up to 4,096 bytes; with an RSA key, fewer.

    Errors: NotFoundException; DisabledException; KMSInvalidStateException; InvalidKeyUsageException;
    ValidationException (too many bytes, an encryption context for an RSA key).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html
    """
    found = _usable(tx, caller, key_id, "Encrypt", encryption_context)
    algorithm = _algorithm(found, encryption_algorithm)
    end_dry_run(dry_run)
    blob = _encrypted(tx, found, algorithm, plaintext, encryption_context or {})
    return {"CiphertextBlob": blob, "KeyId": found.arn, "EncryptionAlgorithm": algorithm}


@operation("Decrypt")
def decrypt(
    tx: Transaction, caller: Caller, *, ciphertext_blob: bytes | None = None,
    encryption_context: _Pairs | None = None, grant_tokens: Sequence[str] | None = None, key_id: str | None = None,  # noqa: ARG001 - it changes nothing here.
    encryption_algorithm: str | None = None, recipient: Document | None = None, dry_run: bool | None = None,
    dry_run_modifiers: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Decrypt a ciphertext of Encrypt or of a data key. Only for an RSA key, the request has to name the key.

    Errors: InvalidCiphertextException (damaged, or another encryption context); IncorrectKeyException (another key);
    NotFoundException; DisabledException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html
    """
    refuse_recipient(recipient)
    if ciphertext_blob is None:
        raise invalid("CiphertextBlob must be specified.")
    found, plaintext = _decrypted(
        tx, caller, "Decrypt", ciphertext_blob, key_id, encryption_algorithm, encryption_context or {}
    )
    end_dry_run(dry_run)
    answer = {
        "KeyId": found.arn,
        "Plaintext": plaintext,
        "EncryptionAlgorithm": _algorithm(found, encryption_algorithm),
    }
    return answer | _generation(found, ciphertext_blob)


@operation("ReEncrypt")
def re_encrypt(
    tx: Transaction, caller: Caller, *, destination_key_id: str, ciphertext_blob: bytes | None = None,
    source_encryption_context: _Pairs | None = None, source_key_id: str | None = None,
    destination_encryption_context: _Pairs | None = None, source_encryption_algorithm: str | None = None,
    destination_encryption_algorithm: str | None = None, grant_tokens: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
    dry_run: bool | None = None, dry_run_modifiers: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Decrypt a ciphertext and encrypt it under another key, or in another encryption context.

    Errors: as of Decrypt and of Encrypt.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ReEncrypt.html
    """
    if ciphertext_blob is None:
        raise invalid("CiphertextBlob must be specified.")
    source, plaintext = _decrypted(
        tx, caller, "ReEncryptFrom", ciphertext_blob, source_key_id, source_encryption_algorithm,
        source_encryption_context or {},
    )  # fmt: skip
    found = _usable(tx, caller, destination_key_id, "ReEncryptTo", destination_encryption_context, "ReEncrypt")
    algorithm = _algorithm(found, destination_encryption_algorithm)
    end_dry_run(dry_run)
    blob = _encrypted(tx, found, algorithm, plaintext, destination_encryption_context or {})
    return {
        "CiphertextBlob": blob,
        "SourceKeyId": source.arn,
        "KeyId": found.arn,
        "SourceEncryptionAlgorithm": _algorithm(source, source_encryption_algorithm),
        "DestinationEncryptionAlgorithm": algorithm,
        **{f"Source{name}": value for name, value in _generation(source, ciphertext_blob).items()},
        **{f"Destination{name}": value for name, value in _generation(found, blob).items()},
    }


@operation("GenerateDataKey")
def generate_data_key(
    tx: Transaction, caller: Caller, *, key_id: str, encryption_context: _Pairs | None = None,
    number_of_bytes: int | None = None, key_spec: str | None = None, grant_tokens: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
    recipient: Document | None = None, dry_run: bool | None = None,
) -> Document:  # fmt: skip
    """Make a key to encrypt data with: as it is, and encrypted under a symmetric key of KMS.

    Errors: NotFoundException; DisabledException; KMSInvalidStateException; InvalidKeyUsageException;
    ValidationException (neither or both of KeySpec and NumberOfBytes).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GenerateDataKey.html
    """
    refuse_recipient(recipient)
    found = _usable(tx, caller, key_id, "GenerateDataKey", encryption_context)
    return _data_key(tx, found, key_spec, number_of_bytes, encryption_context or {}, dry_run=dry_run)


@operation("GenerateDataKeyWithoutPlaintext")
def generate_data_key_without_plaintext(
    tx: Transaction, caller: Caller, *, key_id: str, encryption_context: _Pairs | None = None,
    key_spec: str | None = None, number_of_bytes: int | None = None, grant_tokens: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
    dry_run: bool | None = None,
) -> Document:  # fmt: skip
    """Make a data key, and return it only encrypted.

    Errors: as of GenerateDataKey.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GenerateDataKeyWithoutPlaintext.html
    """
    found = _usable(tx, caller, key_id, "GenerateDataKeyWithoutPlaintext", encryption_context)
    made = _data_key(tx, found, key_spec, number_of_bytes, encryption_context or {}, dry_run=dry_run)
    return {name: value for name, value in made.items() if name != "Plaintext"}


@operation("GenerateDataKeyPair")
def generate_data_key_pair(
    tx: Transaction, caller: Caller, *, key_id: str, key_pair_spec: str, encryption_context: _Pairs | None = None,
    grant_tokens: Sequence[str] | None = None, recipient: Document | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document | Beforehand:  # fmt: skip
    """Make an asymmetric key pair; the private half comes as it is, and encrypted under a symmetric key of KMS.

    Errors: as of GenerateDataKey; UnsupportedOperationException (a spec that redrive does not serve).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GenerateDataKeyPair.html
    """
    refuse_recipient(recipient)
    found = _usable(tx, caller, key_id, "GenerateDataKeyPair", encryption_context)
    return _data_key_pair(tx, found, key_pair_spec, encryption_context or {}, dry_run=dry_run)


@operation("GenerateDataKeyPairWithoutPlaintext")
def generate_data_key_pair_without_plaintext(
    tx: Transaction, caller: Caller, *, key_id: str, key_pair_spec: str, encryption_context: _Pairs | None = None,
    grant_tokens: Sequence[str] | None = None, dry_run: bool | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document | Beforehand:  # fmt: skip
    """Make an asymmetric key pair, and return its private half only encrypted.

    Errors: as of GenerateDataKeyPair.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GenerateDataKeyPairWithoutPlaintext.html
    """
    found = _usable(tx, caller, key_id, "GenerateDataKeyPairWithoutPlaintext", encryption_context)
    made = _data_key_pair(tx, found, key_pair_spec, encryption_context or {}, dry_run=dry_run)
    if isinstance(made, Beforehand):
        return made
    return {name: value for name, value in made.items() if name != "PrivateKeyPlaintext"}


@operation("GenerateRandom")
def generate_random(
    tx: Transaction, caller: Caller, *, number_of_bytes: int | None = None, custom_key_store_id: str | None = None,
    recipient: Document | None = None,
) -> Document:  # fmt: skip
    """Return random bytes.

    Errors: ValidationException; UnsupportedOperationException (a key store, an enclave).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GenerateRandom.html
    """
    authorize_account(tx, caller, "GenerateRandom")
    refuse_recipient(recipient)
    if custom_key_store_id is not None:
        raise ServiceError("CustomKeyStoreNotFoundException", f"Key store '{custom_key_store_id}' does not exist")
    if number_of_bytes is None:
        raise invalid("NumberOfBytes must be specified.")
    return {"Plaintext": bytes.fromhex(tx.entropy.hex(2 * number_of_bytes))}


def _usable(
    tx: Transaction, caller: Caller, key_id: str, action: str, pairs: _Pairs | None, operation_name: str = ""
) -> Found:
    """Return the key of a request that encrypts. Errors: as of Encrypt."""
    found = find_key(tx, caller, key_id)
    authorize_key(tx, caller, action, found, pairs=pairs or NO_PAIRS)
    found.key.check_enabled(found.scope)
    found.key.check_usage(found.scope, ENCRYPT_DECRYPT, operation_name or action)
    if action.startswith("Generate") and not found.key.spec.is_symmetric:
        message = f"You cannot generate a data key with an asymmetric KMS key: {found.arn}"
        raise ServiceError("InvalidKeyUsageException", message)
    return found


def _algorithm(found: Found, given: str | None) -> str:
    """Return the algorithm of a request; without one, that of symmetric keys. Errors: InvalidKeyUsageException."""
    algorithm = given or SYMMETRIC
    if algorithm not in found.key.spec.encryption:
        message = f"Algorithm {algorithm} and key spec {found.key.spec_name} are incompatible."
        raise ServiceError("InvalidKeyUsageException", message)
    return algorithm


def _generation(found: Found, blob: bytes) -> dict[str, str]:
    return {"KeyMaterialId": read_ciphertext(blob).material_id} if found.key.spec.is_symmetric else {}


def _encrypted(tx: Transaction, found: Found, algorithm: str, plaintext: bytes, pairs: _Pairs) -> bytes:
    """Encrypt under a key. Errors: ValidationException."""
    key = found.key
    bytes_max = plaintext_bytes_max(key.spec, algorithm)
    if len(plaintext) > bytes_max:
        if not key.spec.is_symmetric:
            raise invalid(f"Algorithm {algorithm} and key spec {key.spec_name} cannot encrypt data larger than {bytes_max} bytes.")  # fmt: skip  # noqa: E501
        raise invalid(
            "1 validation error detected: Value at 'plaintext' failed to satisfy constraint: "
            f"Member must have length less than or equal to {bytes_max}"
        )
    secrets = Secrets(tx.facts.secret())
    if key.spec.is_symmetric:
        nonce = bytes.fromhex(tx.entropy.hex(2 * NONCE_BYTES))
        secret = secrets.symmetric(key.id, key.material.id)
        return seal(secret, key.id, key.material.id, nonce, plaintext, pairs)
    if pairs:
        raise invalid("An encryption context is not allowed with an asymmetric KMS key.")
    return algorithms.encrypt(secrets.unwrap(key.id, key.wrapped), algorithm, plaintext)


def _decrypted(
    tx: Transaction, caller: Caller, action: str, blob: bytes, key_id: str | None, algorithm: str | None, pairs: _Pairs
) -> tuple[Found, bytes]:
    """Return the key of a ciphertext, and the text. Errors: as of Decrypt."""
    named = None if key_id is None else find_key(tx, caller, key_id)
    if (algorithm or SYMMETRIC) != SYMMETRIC:
        if named is None:
            raise invalid("KeyId must be specified to decrypt with an asymmetric KMS key.")
        _check_decrypts(tx, caller, action, named, pairs)
        _algorithm(named, algorithm)
        private = Secrets(tx.facts.secret()).unwrap(named.key.id, named.key.wrapped)
        return named, algorithms.decrypt(private, str(algorithm), blob)
    parts = read_ciphertext(blob)
    found = key_anywhere(tx, caller, parts.key_id)
    if named is not None and (found is None or named.key.id != found.key.id):
        message = "The key ID in the request does not identify a CMK that can perform this operation."
        raise ServiceError("IncorrectKeyException", message)
    if found is None or all(material.id != parts.material_id for material in found.key.materials):
        raise invalid_ciphertext()
    _check_decrypts(tx, caller, action, found, pairs)
    secret = Secrets(tx.facts.secret()).symmetric(found.key.id, parts.material_id)
    return found, unseal(secret, parts, pairs)


def _check_decrypts(tx: Transaction, caller: Caller, action: str, found: Found, pairs: _Pairs) -> None:
    authorize_key(tx, caller, action, found, pairs=pairs)
    found.key.check_enabled(found.scope)
    found.key.check_usage(found.scope, ENCRYPT_DECRYPT, "Decrypt" if action == "Decrypt" else "ReEncrypt")


def _data_key(
    tx: Transaction, found: Found, key_spec: str | None, count: int | None, pairs: _Pairs, *, dry_run: bool | None
) -> Document:
    if (key_spec is None) == (count is None):
        raise invalid("Please specify either number of bytes or key spec.")
    end_dry_run(dry_run)
    length = _DATA_KEY_BYTES[key_spec] if key_spec is not None else count or 0
    plaintext = bytes.fromhex(tx.entropy.hex(2 * length))
    blob = _encrypted(tx, found, SYMMETRIC, plaintext, pairs)
    return {
        "CiphertextBlob": blob,
        "Plaintext": plaintext,
        "KeyId": found.arn,
        "KeyMaterialId": found.key.material.id,
    }


def _data_key_pair(
    tx: Transaction, found: Found, spec_name: str, pairs: _Pairs, *, dry_run: bool | None
) -> Document | Beforehand:
    spec = SPECS.get(spec_name)
    if spec is None or not spec.is_asymmetric:
        raise ServiceError(
            "UnsupportedOperationException", f"redrive does not serve data key pairs of the spec {spec_name}."
        )
    end_dry_run(dry_run)
    private = made_key(spec)
    if isinstance(private, Beforehand):
        return private
    plaintext = private_bytes(private)
    return {
        "PrivateKeyCiphertextBlob": _encrypted(tx, found, SYMMETRIC, plaintext, pairs),
        "PrivateKeyPlaintext": plaintext,
        "PublicKey": public_bytes(private),
        "KeyId": found.arn,
        "KeyPairSpec": spec_name,
        "KeyMaterialId": found.key.material.id,
    }
