"""The KMS key of a topic: who publishes has to be able to use the key.

Messages are not encrypted at rest; only what a key that cannot be used prevents is the same as on AWS.
Source: https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.sns.model.topic import PRINCIPAL, Topic
from redrive.store.api import Transaction

_CODES: Mapping[str, str] = MappingProxyType(
    {
        "AccessDeniedException": "KMSAccessDeniedException",
        "DisabledException": "KMSDisabledException",
        "KMSInvalidStateException": "KMSInvalidStateException",
        "NotFoundException": "KMSNotFoundException",
    }
)


def check_key(tx: Transaction, caller: Caller, topic: Topic) -> None:
    """Ask KMS for a data key, as SNS does for the publisher of an encrypted topic.

    Errors: KMSAccessDeniedException; KMSDisabledException; KMSInvalidStateException; KMSNotFoundException.
    """
    key_id = topic.attributes.get("KmsMasterKeyId", "")
    if not key_id:
        return
    params = {"KeyId": key_id, "KeySpec": "AES_256", "EncryptionContext": {"aws:sns:topicArn": topic.arn}}
    via = caller if caller.service else replace(caller, invoked_by=PRINCIPAL)
    try:
        tx.services.call(tx, via, "kms", "GenerateDataKey", params)
    except ServiceError as error:
        code = _CODES.get(error.code)
        if code is None:
            raise
        message = f"{error.message} (Service: AWSKMS; Status Code: 400; Error Code: {error.code})"
        raise ServiceError(code, message) from None
