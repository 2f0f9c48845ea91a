"""The operations on the policy, the tags and the rotation of a key."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import keys_of_tags, request_tags
from redrive.services.kms import limits
from redrive.services.kms.access import authorize_key
from redrive.services.kms.lookup import Found, find_by_id, new_material, store_key
from redrive.services.kms.model.key import rotation_after
from redrive.services.kms.model.policies import POLICY_NAME, check_policy
from redrive.services.kms.model.requests import not_found, page_of, unsupported
from redrive.services.kms.model.tags import merged_tags
from redrive.store.api import Transaction


@operation("GetKeyPolicy")
def get_key_policy(tx: Transaction, caller: Caller, *, key_id: str, policy_name: str | None = None) -> Document:
    """Return the policy of a key.

    Errors: NotFoundException (the key; a name other than `default`).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GetKeyPolicy.html
    """
    found = _found(tx, caller, key_id, "GetKeyPolicy")
    _check_name(policy_name)
    return {"Policy": found.key.policy, "PolicyName": POLICY_NAME}


@operation("PutKeyPolicy")
def put_key_policy(
    tx: Transaction, caller: Caller, *, key_id: str, policy: str, policy_name: str | None = None,
    bypass_policy_lockout_safety_check: bool | None = None,
) -> Document:  # fmt: skip
    """Replace the policy of a key.

    Errors: NotFoundException; MalformedPolicyDocumentException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_PutKeyPolicy.html
    """
    found = _found(tx, caller, key_id, "PutKeyPolicy")
    _check_name(policy_name)
    found.key.check_stays(found.scope)
    check_policy(policy, caller, bypass=bool(bypass_policy_lockout_safety_check))
    store_key(tx, found, policy=policy)
    return {}


@operation("ListKeyPolicies")
def list_key_policies(
    tx: Transaction,
    caller: Caller,
    *,
    key_id: str,
    limit: int | None = None,  # noqa: ARG001 - it changes nothing here.
    marker: str | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:
    """List the names of a key's policies: always `default`.

    Errors: NotFoundException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListKeyPolicies.html
    """
    _found(tx, caller, key_id, "ListKeyPolicies")
    return {"PolicyNames": [POLICY_NAME], "Truncated": False}


@operation("TagResource")
def tag_resource(tx: Transaction, caller: Caller, *, key_id: str, tags: Sequence[Document]) -> Document:
    """Add tags to a key. A tag with an existing key replaces the old tag.

    Errors: NotFoundException; TagException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_TagResource.html
    """
    found = find_by_id(tx, caller, key_id)
    context = request_tags({str(tag["TagKey"]): str(tag["TagValue"]) for tag in tags})
    authorize_key(tx, caller, "TagResource", found, more=context)
    found.key.check_stays(found.scope)
    store_key(tx, found, tags=merged_tags(found.key.tags, tags))
    return {}


@operation("UntagResource")
def untag_resource(tx: Transaction, caller: Caller, *, key_id: str, tag_keys: Sequence[str]) -> Document:
    """Remove tags from a key.

    Errors: NotFoundException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_UntagResource.html
    """
    found = find_by_id(tx, caller, key_id)
    authorize_key(tx, caller, "UntagResource", found, more=keys_of_tags(tag_keys))
    found.key.check_stays(found.scope)
    store_key(tx, found, tags={key: value for key, value in found.key.tags.items() if key not in tag_keys})
    return {}


@operation("ListResourceTags")
def list_resource_tags(
    tx: Transaction, caller: Caller, *, key_id: str, limit: int | None = None, marker: str | None = None
) -> Document:
    """List the tags of a key.

    Errors: NotFoundException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListResourceTags.html
    """
    found = _found(tx, caller, key_id, "ListResourceTags")
    page, rest = page_of(sorted(found.key.tags.items()), lambda tag: tag[0], marker, limit or limits.TAGS_MAX)
    return {"Tags": [{"TagKey": key, "TagValue": value} for key, value in page], **rest}


@operation("EnableKeyRotation")
def enable_key_rotation(
    tx: Transaction, caller: Caller, *, key_id: str, rotation_period_in_days: int | None = None
) -> Document:
    """Have a symmetric key rotated every so many days, every year by default.

    Errors: NotFoundException; UnsupportedOperationException (no symmetric key); DisabledException;
    KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_EnableKeyRotation.html
    """
    found = _rotatable(tx, caller, key_id, "EnableKeyRotation")
    days = rotation_period_in_days or found.key.rotation_days or limits.ROTATION_DAYS
    store_key(tx, found, rotation_days=days, rotates_at=rotation_after(tx.now, days))
    return {}


@operation("DisableKeyRotation")
def disable_key_rotation(tx: Transaction, caller: Caller, *, key_id: str) -> Document:
    """End the automatic rotation of a key.

    Errors: NotFoundException; UnsupportedOperationException; DisabledException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_DisableKeyRotation.html
    """
    store_key(tx, _rotatable(tx, caller, key_id, "DisableKeyRotation"), rotation_days=None, rotates_at=None)
    return {}


@operation("GetKeyRotationStatus")
def get_key_rotation_status(tx: Transaction, caller: Caller, *, key_id: str) -> Document:
    """Return whether a key is rotated automatically, and when next.

    Errors: NotFoundException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GetKeyRotationStatus.html
    """
    found = _found(tx, caller, key_id, "GetKeyRotationStatus")
    found.key.check_stays(found.scope)
    status: Document = {"KeyId": found.arn, "KeyRotationEnabled": found.key.rotation_days is not None}
    if found.key.rotation_days is not None:
        status |= {"RotationPeriodInDays": found.key.rotation_days, "NextRotationDate": found.key.rotates_at}
    return status


@operation("RotateKeyOnDemand")
def rotate_key_on_demand(tx: Transaction, caller: Caller, *, key_id: str) -> Document:
    """Rotate a symmetric key at once. What earlier generations encrypted still decrypts.

    Errors: NotFoundException; UnsupportedOperationException; DisabledException; KMSInvalidStateException;
    LimitExceededException (25 rotations on demand).
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_RotateKeyOnDemand.html
    """
    found = _rotatable(tx, caller, key_id, "RotateKeyOnDemand")
    if sum(material.on_demand for material in found.key.materials) >= limits.ROTATIONS_ON_DEMAND_MAX:
        raise ServiceError("LimitExceededException", f"The on-demand rotations limit has been reached for {found.arn}.")
    store_key(tx, found, materials=(*found.key.materials, new_material(tx, on_demand=True)))
    return {"KeyId": found.arn}


@operation("ListKeyRotations")
def list_key_rotations(
    tx: Transaction, caller: Caller, *, key_id: str, include_key_material: str | None = None,
    limit: int | None = None, marker: str | None = None,
) -> Document:  # fmt: skip
    """List the rotations of a key that have happened; with all its key material, the first one is listed as well.

    Errors: NotFoundException; UnsupportedOperationException; KMSInvalidStateException.
    Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_ListKeyRotations.html
    """
    found = _found(tx, caller, key_id, "ListKeyRotations")
    found.key.check_stays(found.scope)
    _check_symmetric(found)
    shown = [
        {
            "KeyId": found.arn,
            "KeyMaterialId": material.id,
            "KeyMaterialState": "CURRENT" if material is found.key.material else "NON_CURRENT",
            "RotationDate": material.created_at,
            "RotationType": "ON_DEMAND" if material.on_demand else "AUTOMATIC",
        }
        for material in found.key.materials[1:]
    ]
    if include_key_material == "ALL_KEY_MATERIAL":
        first = found.key.materials[0]
        state = "CURRENT" if first is found.key.material else "NON_CURRENT"
        shown.insert(0, {"KeyId": found.arn, "KeyMaterialId": first.id, "KeyMaterialState": state})
    numbered = [(f"{number:06d}", one) for number, one in enumerate(shown)]
    page, rest = page_of(numbered, lambda pair: pair[0], marker, limit or limits.PAGE)
    return {"Rotations": [one for _, one in page], **rest}


def _found(tx: Transaction, caller: Caller, key_id: str, operation_name: str) -> Found:
    found = find_by_id(tx, caller, key_id)
    authorize_key(tx, caller, operation_name, found)
    return found


def _rotatable(tx: Transaction, caller: Caller, key_id: str, operation_name: str) -> Found:
    """Return a key that can be rotated. Errors: as of the operations here."""
    found = _found(tx, caller, key_id, operation_name)
    found.key.check_enabled(found.scope)
    _check_symmetric(found)
    return found


def _check_symmetric(found: Found) -> None:
    if not found.key.spec.is_symmetric:
        raise unsupported(f"{found.arn} origin is AWS_KMS and its spec {found.key.spec_name}, which is never rotated.")


def _check_name(name: str | None) -> None:
    if name not in (None, POLICY_NAME):
        raise not_found(f"No such policy exists: {name}")
