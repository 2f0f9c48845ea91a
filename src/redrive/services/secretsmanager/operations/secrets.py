"""The operations on secrets as such: creation, description, lists, deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import DAY_MS
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.finding import Found, find, locate, secrets_of
from redrive.services.secretsmanager.model.filters import passes
from redrive.services.secretsmanager.model.passwords import random_password
from redrive.services.secretsmanager.model.requests import (
    invalid_parameter,
    invalid_request,
    page_token,
    read_page_token,
)
from redrive.services.secretsmanager.model.secret import (
    CURRENT,
    DELETION_TIMER,
    NAME,
    ROTATION_TIMER,
    Secret,
    secret_arn,
    timer_name,
)
from redrive.services.secretsmanager.model.tags import merged_tags, read_tags
from redrive.services.secretsmanager.values import add_version, encrypt_again, forget, given_value
from redrive.store.api import Transaction

_SUFFIX_LENGTH = 6


@operation("CreateSecret")
def create_secret(
    tx: Transaction, caller: Caller, *, name: str, client_request_token: str | None = None,
    description: str | None = None, kms_key_id: str | None = None, secret_binary: bytes | None = None,
    secret_string: str | None = None, tags: Sequence[Document] | None = None,
    add_replica_regions: Sequence[Document] | None = None, force_overwrite_replica_secret: bool | None = None,  # noqa: ARG001 - it changes nothing here.
    type: str | None = None, cross_account_primary_arn: str | None = None,
) -> Document:  # fmt: skip
    """Create a secret, with a value or without one.

    Errors: ResourceExistsException; InvalidRequestException (the name is that of a deleted secret; replicas, which are
    not served); InvalidParameterException; ValidationException (the name); EncryptionFailure; LimitExceededException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html
    """
    added = read_tags(tags or ())
    context = {**request_tags(added), "secretsmanager:Name": (name,)}
    tx.services.authorize(tx, caller, "secretsmanager:CreateSecret", secret_arn(caller.scope, name), context=context)
    if NAME.fullmatch(name) is None:
        message = (
            "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!"
        )
        raise ServiceError("ValidationException", message, http_status=400)
    if add_replica_regions or type is not None or cross_account_primary_arn is not None:
        raise invalid_request("redrive serves no replicas of secrets, and no secrets that partners manage.")
    value = given_value(secret_string, secret_binary)
    present = tx.resources.get(Secret, caller.scope, name)
    if present is not None:
        return _same_or_refused(tx, caller, Found(caller.scope, present), client_request_token, value)
    if tx.services.limits is Limits.STRICT and tx.resources.count(Secret, caller.scope) >= limits.SECRETS_MAX:
        raise ServiceError("LimitExceededException", "You have reached the limit of secrets.")
    secret = Secret(
        name, _new_suffix(tx), new_uuid(tx.entropy), tx.now, tx.now, description, kms_key_id,
        tags=merged_tags({}, tags or ()),
    )  # fmt: skip
    found = Found(caller.scope, secret)
    if value is None:
        tx.resources.put(caller.scope, secret)
        return _named(found)
    found, version_id = add_version(tx, caller, found, client_request_token, value, (CURRENT,))
    return {**_named(found), "VersionId": version_id}


def _same_or_refused(
    tx: Transaction, caller: Caller, found: Found, token: str | None, value: bytes | str | None
) -> Document:
    """Answer to a creation that was made before with the same token and value. Errors: as of CreateSecret."""
    if found.secret.deletion_at is not None:
        raise invalid_request(
            "You can't create this secret because a secret with this name is already scheduled for deletion."
        )
    if token is not None and value is not None and found.secret.version(token) is not None:
        found, version_id = add_version(tx, caller, found, token, value, (CURRENT,))
        return {**_named(found), "VersionId": version_id}
    message = f"The operation failed because the secret {found.secret.name} already exists."
    raise ServiceError("ResourceExistsException", message)


@operation("UpdateSecret")
def update_secret(
    tx: Transaction, caller: Caller, *, secret_id: str, client_request_token: str | None = None,
    description: str | None = None, kms_key_id: str | None = None, secret_binary: bytes | None = None,
    secret_string: str | None = None, type: str | None = None,
) -> Document:  # fmt: skip
    """Change the description, the key or the value of a secret. Values with stages are encrypted under the new key.

    Errors: ResourceNotFoundException; ResourceExistsException; InvalidRequestException; InvalidParameterException;
    EncryptionFailure; DecryptionFailure.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_UpdateSecret.html
    """
    before = find(tx, caller, "UpdateSecret", secret_id)
    if type is not None:
        raise invalid_request("redrive serves no secrets that partners manage.")
    value = given_value(secret_string, secret_binary)
    secret = before.secret
    changed = replace(
        secret, changed_at=tx.now,
        description=secret.description if description is None else description,
        kms_key_id=secret.kms_key_id if kms_key_id is None else kms_key_id,
    )  # fmt: skip
    found = Found(before.scope, changed)
    tx.resources.put(found.scope, changed)
    if kms_key_id is not None and kms_key_id != secret.kms_key_id:
        encrypt_again(tx, caller, before, found)
    if value is None:
        return _named(found)
    found, version_id = add_version(tx, caller, found, client_request_token, value, (CURRENT,))
    return {**_named(found), "VersionId": version_id}


@operation("DescribeSecret")
def describe_secret(tx: Transaction, caller: Caller, *, secret_id: str) -> Document:
    """Describe a secret, also one that was deleted; its value is not shown.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DescribeSecret.html
    """
    found = find(tx, caller, "DescribeSecret", secret_id, is_kept=False)
    return found.secret.described(found.scope)


@operation("ListSecrets")
def list_secrets(
    tx: Transaction, caller: Caller, *, include_planned_deletion: bool | None = None, max_results: int | None = None,
    next_token: str | None = None, filters: Sequence[Document] | None = None, sort_order: str | None = None,
    sort_by: str | None = None,
) -> Document:  # fmt: skip
    """List secrets; the newest first, unless sorted otherwise.

    Errors: InvalidNextTokenException; InvalidParameterException (filters).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_ListSecrets.html
    """
    tx.services.authorize(tx, caller, "secretsmanager:ListSecrets", "*")
    wanted = [
        secret
        for secret in secrets_of(tx, caller.scope)
        if (include_planned_deletion or secret.deletion_at is None) and passes(secret, caller.region, filters or ())
    ]
    keys = {
        "name": lambda one: one.name,
        "created-date": lambda one: (one.created_at, one.name),
        "last-accessed-date": lambda one: (one.accessed_at or 0, one.name),
        "last-changed-date": lambda one: (one.changed_at, one.name),
    }
    wanted.sort(key=keys[sort_by or "created-date"], reverse=(sort_order or "desc") == "desc")
    after = read_page_token(next_token)
    names = [secret.name for secret in wanted]
    begin = names.index(after) + 1 if after in names else 0
    page = wanted[begin : begin + (max_results or limits.LIST_PAGE)]
    has_more = begin + len(page) < len(wanted)
    return {
        "SecretList": [secret.listed(caller.scope) for secret in page],
        "NextToken": page_token(page[-1].name) if has_more else None,
    }


@operation("DeleteSecret")
def delete_secret(
    tx: Transaction, caller: Caller, *, secret_id: str, recovery_window_in_days: int | None = None,
    force_delete_without_recovery: bool | None = None,
) -> Document:  # fmt: skip
    """Have a secret deleted after 7 to 30 days, in which it can be restored; or at once.

    Errors: ResourceNotFoundException; InvalidRequestException (it was deleted); InvalidParameterException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DeleteSecret.html
    """
    days = recovery_window_in_days
    if force_delete_without_recovery and days is not None:
        raise invalid_parameter("You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
    if days is not None and not limits.DELETION_DAYS_MIN <= days <= limits.DELETION_DAYS_MAX:
        raise invalid_parameter(
            f"The RecoveryWindowInDays value must be between {limits.DELETION_DAYS_MIN} and {limits.DELETION_DAYS_MAX} "
            "days (inclusive)."
        )
    if force_delete_without_recovery and locate(tx, caller, secret_id) is None:
        arn = secret_id if secret_id.startswith("arn:") else secret_arn(caller.scope, secret_id)
        tx.services.authorize(tx, caller, "secretsmanager:DeleteSecret", arn)
        return {"ARN": arn, "Name": secret_id, "DeletionDate": tx.now}
    forced = ("true" if force_delete_without_recovery else "false",)
    found = find(
        tx, caller, "DeleteSecret", secret_id, is_kept=not force_delete_without_recovery,
        more={"secretsmanager:ForceDeleteWithoutRecovery": forced},
    )  # fmt: skip
    if force_delete_without_recovery:
        forget(tx, found)
        return {**_named(found), "DeletionDate": tx.now}
    deletion_at = tx.now + (limits.DELETION_DAYS_MAX if days is None else days) * DAY_MS
    deleted = replace(found.secret, deleted_at=tx.now, deletion_at=deletion_at, rotation=None)
    tx.resources.put(found.scope, deleted)
    timer = timer_name(found.scope, found.secret.name)
    tx.timers.set(DELETION_TIMER, timer, deletion_at)
    tx.timers.clear(ROTATION_TIMER, timer)
    tx.notify("due")
    return {**_named(found), "DeletionDate": deletion_at}


@operation("RestoreSecret")
def restore_secret(tx: Transaction, caller: Caller, *, secret_id: str) -> Document:
    """Keep a secret that was about to be deleted.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_RestoreSecret.html
    """
    found = find(tx, caller, "RestoreSecret", secret_id, is_kept=False)
    restored = replace(found.secret, deleted_at=None, deletion_at=None)
    tx.resources.put(found.scope, restored)
    timer = timer_name(found.scope, restored.name)
    tx.timers.clear(DELETION_TIMER, timer)
    if restored.rotates_at is not None:
        tx.timers.set(ROTATION_TIMER, timer, restored.rotates_at)
        tx.notify("due")
    return _named(found)


@operation("GetRandomPassword")
def get_random_password(
    tx: Transaction, caller: Caller, *, password_length: int | None = None, exclude_characters: str | None = None,
    exclude_numbers: bool | None = None, exclude_punctuation: bool | None = None,
    exclude_uppercase: bool | None = None, exclude_lowercase: bool | None = None, include_space: bool | None = None,
    require_each_included_type: bool | None = None,
) -> Document:  # fmt: skip
    """Return a random password; nothing is stored.

    Errors: InvalidParameterException (no characters are left; too short for one of each type).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetRandomPassword.html
    """
    tx.services.authorize(tx, caller, "secretsmanager:GetRandomPassword", "*")
    password = random_password(
        tx.entropy, length=password_length, excluded=exclude_characters or "", numbers=not exclude_numbers,
        punctuation=not exclude_punctuation, uppercase=not exclude_uppercase, lowercase=not exclude_lowercase,
        space=bool(include_space), each_type=require_each_included_type is not False,
    )  # fmt: skip
    return {"RandomPassword": password}


def _named(found: Found) -> Document:
    return {"ARN": found.arn, "Name": found.secret.name}


def _new_suffix(tx: Transaction) -> str:
    """Return the six characters at the end of an ARN, which tell a secret from an earlier one of its name."""
    number, letters = int(tx.entropy.hex(16), 16), []
    for _ in range(_SUFFIX_LENGTH):
        number, index = divmod(number, len(_SUFFIX_LETTERS))
        letters.append(_SUFFIX_LETTERS[index])
    return "".join(letters)


_SUFFIX_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
