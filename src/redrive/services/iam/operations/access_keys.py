"""The operations on access keys of users: create, list, deactivate, activate, delete.

A deleted or inactive key is refused from the commit on, because every request reads its key in its own transaction.
"""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.core.sessions import Issuer
from redrive.delivery.operation import operation
from redrive.services.iam import limits
from redrive.services.iam.model.requests import no_such_entity, over_quota, page
from redrive.services.iam.model.user import KEYS, AccessKey, User, user_arn
from redrive.services.iam.operations.users import store_user, user_for
from redrive.store.api import Transaction


@operation("CreateAccessKey")
def create_access_key(tx: Transaction, caller: Caller, *, user_name: str | None = None) -> Document:
    """Create an access key for a user. Only this answer contains the secret.

    Errors: NoSuchEntityException; LimitExceededException (two keys); ValidationException (no name, and the caller is
    not a user).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateAccessKey.html
    """
    user = user_for(tx, caller, user_name, "iam:CreateAccessKey")
    if len(user.access_keys) >= limits.ACCESS_KEYS_PER_USER_MAX:
        raise over_quota("AccessKeysPerUser", limits.ACCESS_KEYS_PER_USER_MAX)
    issuer = Issuer(tx.facts.secret())
    key = AccessKey(issuer.new_access_key_id(tx.entropy), user.user_name, user.account, tx.now)
    tx.resources.put(KEYS, key)
    store_user(tx, dataclasses.replace(user, access_keys=(*user.access_keys, key.access_key_id)))
    return {"AccessKey": _listed(key) | {"SecretAccessKey": issuer.secret_of(key.access_key_id)}}


@operation("ListAccessKeys")
def list_access_keys(
    tx: Transaction,
    caller: Caller,
    *,
    user_name: str | None = None,
    marker: str | None = None,
    max_items: int | None = None,
) -> Document:
    """List a user's access keys, without their secrets.

    Errors: NoSuchEntityException; ValidationException (an invalid marker; no name, and the caller is not a user).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAccessKeys.html
    """
    user = user_for(tx, caller, user_name, "iam:ListAccessKeys")
    items, more = page(user.access_keys, str, marker, max_items)
    return {"AccessKeyMetadata": [_listed(_key_of(tx, user, key_id)) for key_id in items], **more}


@operation("UpdateAccessKey")
def update_access_key(
    tx: Transaction, caller: Caller, *, access_key_id: str, status: str, user_name: str | None = None
) -> Document:
    """Deactivate (`Inactive`) or activate (`Active`) an access key.

    Errors: NoSuchEntityException (user or key); InvalidInputException (a status that only AWS sets);
    ValidationException (no name, and the caller is not a user).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_UpdateAccessKey.html
    """
    user = user_for(tx, caller, user_name, "iam:UpdateAccessKey")
    key = _key_of(tx, user, access_key_id)
    if status == "Expired":
        raise ServiceError("InvalidInputException", "Status must be Active or Inactive.")
    tx.resources.put(KEYS, dataclasses.replace(key, status=status))
    return {}


@operation("DeleteAccessKey")
def delete_access_key(tx: Transaction, caller: Caller, *, access_key_id: str, user_name: str | None = None) -> Document:
    """Delete an access key permanently.

    Errors: NoSuchEntityException (user or key); ValidationException (no name, and the caller is not a user).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteAccessKey.html
    """
    user = user_for(tx, caller, user_name, "iam:DeleteAccessKey")
    key = _key_of(tx, user, access_key_id)
    tx.resources.delete(AccessKey, KEYS, key.access_key_id)
    left = tuple(key_id for key_id in user.access_keys if key_id != key.access_key_id)
    store_user(tx, dataclasses.replace(user, access_keys=left))
    return {}


@operation("GetAccessKeyLastUsed")
def get_access_key_last_used(tx: Transaction, caller: Caller, *, access_key_id: str) -> Document:
    """Return the user of an access key, and the time and service of its last use, accurate to 15 minutes.

    Errors: AccessDeniedException (also for a key that does not exist, as on AWS).
    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetAccessKeyLastUsed.html
    """
    key = tx.resources.get(AccessKey, KEYS, access_key_id)
    is_found = key is not None and key.account == caller.account
    arn = user_arn(caller.account, key.user_name if key is not None and is_found else "*")
    tx.services.authorize(tx, caller, "iam:GetAccessKeyLastUsed", arn)
    if key is None or not is_found:
        message = (
            f"User: {caller.principal_arn} is not authorized to perform: iam:GetAccessKeyLastUsed "
            f"on resource: access key {access_key_id}"
        )
        raise ServiceError("AccessDeniedException", message)
    used = {"LastUsedDate": key.used_at, "ServiceName": key.used_service, "Region": key.used_region}
    return {"UserName": key.user_name, "AccessKeyLastUsed": used}


def _key_of(tx: Transaction, user: User, access_key_id: str) -> AccessKey:
    """Return an access key of this user. Errors: NoSuchEntityException."""
    key = tx.resources.get(AccessKey, KEYS, access_key_id) if access_key_id in user.access_keys else None
    if key is None:
        raise no_such_entity(f"The Access Key with id {access_key_id} cannot be found.")
    return key


def _listed(key: AccessKey) -> Document:
    return {
        "UserName": key.user_name,
        "AccessKeyId": key.access_key_id,
        "Status": key.status,
        "CreateDate": key.created_at,
    }
