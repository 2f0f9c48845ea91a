"""The operations on keys: what they are, and whether they can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import DAY_MS
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import Beforehand, operation
from redrive.languages.iam import request_tags
from redrive.services.kms import limits
from redrive.services.kms.access import authorize_account, authorize_key
from redrive.services.kms.lookup import Found, find_by_id, find_key, new_material, store_key
from redrive.services.kms.making import made_key
from redrive.services.kms.model.ciphertext import NONCE_BYTES
from redrive.services.kms.model.key import Key, KeyState, default_policy
from redrive.services.kms.model.policies import check_policy
from redrive.services.kms.model.requests import invalid, page_of, unsupported
from redrive.services.kms.model.secrets import Secrets
from redrive.services.kms.model.specs import SYMMETRIC, chosen_spec
from redrive.services.kms.model.tags import merged_tags
from redrive.store.api import Transaction


@operation("CreateKey")
def create_key(
    tx: Transaction, caller: Caller, *, policy: str | None = None, description: str | None = None,
    key_usage: str | None = None, customer_master_key_spec: str | None = None, key_spec: str | None = None,
    origin: str | None = None, custom_key_store_id: str | None = None,
    bypass_policy_lockout_safety_check: bool | None = None, tags: Sequence[Document] | None = None,
    multi_region: bool | None = None, xks_key_id: str | None = None,
) -> Document | Beforehand:  # fmt: skip
    """Create a key. A multi-Region key is alone: it has no replicas.

    Errors: ValidationException (usage and spec do not fit); UnsupportedOperationException (another origin, a spec that
    redrive does not serve); MalformedPolicyDocumentException; TagException; LimitExceededException (100,000 keys).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html
    """
    tx.services.authorize(
        tx, caller, "kms:CreateKey", "*",
        context=request_tags({str(tag["TagKey"]): str(tag["TagValue"]) for tag in tags or ()}),
    )  # fmt: skip
    if origin not in (None, "AWS_KMS") or custom_key_store_id is not None or xks_key_id is not None:
        raise unsupported("redrive serves keys of the origin AWS_KMS only: no imported material, no key stores.")
    if key_spec is not None and customer_master_key_spec is not None and key_spec != customer_master_key_spec:
        raise invalid("You cannot specify KeySpec and CustomerMasterKeySpec in the same request.")
    spec, usage = chosen_spec(key_spec or customer_master_key_spec or SYMMETRIC, key_usage)
    if policy is not None:
        check_policy(policy, caller, bypass=bool(bypass_policy_lockout_safety_check))
    if tx.services.limits is Limits.STRICT and tx.resources.count(Key, caller.scope) >= limits.KEYS_MAX:
        raise ServiceError("LimitExceededException", "You have reached the limit of KMS keys.")
    private = made_key(spec) if spec.is_asymmetric else None
    if isinstance(private, Beforehand):
        return private
    key_id = f"mrk-{tx.entropy.hex(32)}" if multi_region else new_uuid(tx.entropy)
    key = Key(
        key_id, tx.now, spec.name, usage, policy or default_policy(caller.account), (new_material(tx),),
        description=description or "", is_multi_region=bool(multi_region), tags=merged_tags({}, tags or ()),
    )  # fmt: skip
    if private is not None:
        nonce = bytes.fromhex(tx.entropy.hex(2 * NONCE_BYTES))
        wrapped = Secrets(tx.facts.secret()).wrap(key_id, nonce, private)
        key = replace(key, wrapped=wrapped)
    tx.resources.put(caller.scope, key)
    return {"KeyMetadata": key.described(caller.scope)}


@operation("DescribeKey")
def describe_key(
    tx: Transaction,
    caller: Caller,
    *,
    key_id: str,
    grant_tokens: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:
    """Describe a key. An AWS managed key is created when it is first described.

    Errors: NotFoundException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_DescribeKey.html
    """
    found = find_key(tx, caller, key_id)
    authorize_key(tx, caller, "DescribeKey", found)
    return {"KeyMetadata": found.key.described(found.scope)}


@operation("ListKeys")
def list_keys(
    tx: Transaction, caller: Caller, *, limit: int | None = None, marker: str | None = None,
    resource_owners: Sequence[str] | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """List the keys of the account by their ids.

    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListKeys.html
    """
    authorize_account(tx, caller, "ListKeys")
    keys = tx.resources.list(Key, caller.scope)
    page, rest = page_of(keys, lambda key: key.id, marker, limit or limits.PAGE)
    return {"Keys": [{"KeyId": key.id, "KeyArn": key.arn(caller.scope)} for key in page], **rest}


@operation("UpdateKeyDescription")
def update_key_description(tx: Transaction, caller: Caller, *, key_id: str, description: str) -> Document:
    """Change the description of a key.

    Errors: NotFoundException; KMSInvalidStateException (the key is about to be deleted).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_UpdateKeyDescription.html
    """
    found = _customers_key(tx, caller, key_id, "UpdateKeyDescription")
    found.key.check_stays(found.scope)
    store_key(tx, found, description=description)
    return {}


@operation("EnableKey")
def enable_key(tx: Transaction, caller: Caller, *, key_id: str) -> Document:
    """Let a disabled key be used again.

    Errors: NotFoundException; KMSInvalidStateException (the key is about to be deleted).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_EnableKey.html
    """
    found = _customers_key(tx, caller, key_id, "EnableKey")
    found.key.check_stays(found.scope)
    store_key(tx, found, state=KeyState.ENABLED)
    return {}


@operation("DisableKey")
def disable_key(tx: Transaction, caller: Caller, *, key_id: str) -> Document:
    """Let a key be used no more, until it is enabled again.

    Errors: NotFoundException; KMSInvalidStateException (the key is about to be deleted).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_DisableKey.html
    """
    found = _customers_key(tx, caller, key_id, "DisableKey")
    found.key.check_stays(found.scope)
    store_key(tx, found, state=KeyState.DISABLED)
    return {}


@operation("ScheduleKeyDeletion")
def schedule_key_deletion(
    tx: Transaction, caller: Caller, *, key_id: str, pending_window_in_days: int | None = None
) -> Document:
    """Have a key deleted after 7 to 30 days; until then it cannot be used.

    Errors: NotFoundException; KMSInvalidStateException (it is scheduled already); ValidationException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html
    """
    found = _customers_key(tx, caller, key_id, "ScheduleKeyDeletion")
    found.key.check_stays(found.scope)
    days = limits.DELETION_DAYS_MAX if pending_window_in_days is None else pending_window_in_days
    if not limits.DELETION_DAYS_MIN <= days <= limits.DELETION_DAYS_MAX:
        raise invalid(f"PendingWindowInDays must be between {limits.DELETION_DAYS_MIN} and {limits.DELETION_DAYS_MAX}")
    deletion_at = tx.now + days * DAY_MS
    store_key(tx, found, state=KeyState.PENDING_DELETION, deletion_at=deletion_at, pending_days=days)
    return {
        "KeyId": found.arn,
        "DeletionDate": deletion_at,
        "KeyState": KeyState.PENDING_DELETION.value,
        "PendingWindowInDays": days,
    }


@operation("CancelKeyDeletion")
def cancel_key_deletion(tx: Transaction, caller: Caller, *, key_id: str) -> Document:
    """Keep a key that was about to be deleted. It is disabled afterwards.

    Errors: NotFoundException; KMSInvalidStateException (it is not about to be deleted).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_CancelKeyDeletion.html
    """
    found = _customers_key(tx, caller, key_id, "CancelKeyDeletion")
    if found.key.state is not KeyState.PENDING_DELETION:
        raise ServiceError("KMSInvalidStateException", f"{found.arn} is not pending deletion.")
    store_key(tx, found, state=KeyState.DISABLED, deletion_at=None, pending_days=None)
    return {"KeyId": found.arn}


def _customers_key(tx: Transaction, caller: Caller, key_id: str, operation_name: str) -> Found:
    """Return a key that its account may change: one that AWS does not manage. Errors: also AccessDeniedException."""
    found = find_by_id(tx, caller, key_id)
    authorize_key(tx, caller, operation_name, found)
    return found
