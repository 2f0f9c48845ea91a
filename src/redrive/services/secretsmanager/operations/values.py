"""The operations on values, versions and stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.finding import Found, find, secrets_of
from redrive.services.secretsmanager.model.filters import passes
from redrive.services.secretsmanager.model.requests import (
    invalid_parameter,
    invalid_request,
    not_found,
    page_token,
    read_page_token,
)
from redrive.services.secretsmanager.model.secret import CURRENT, Version, day_of, staged
from redrive.services.secretsmanager.values import add_version, given_value, read_value, shown_value
from redrive.store.api import Transaction


@operation("GetSecretValue")
def get_secret_value(
    tx: Transaction, caller: Caller, *, secret_id: str, version_id: str | None = None,
    version_stage: str | None = None,
) -> Document:  # fmt: skip
    """Return the value of a secret: that with the stage AWSCURRENT, or of another version.

    Errors: ResourceNotFoundException; InvalidRequestException (deleted; stage and version disagree);
    DecryptionFailure; AccessDeniedException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
    """
    more = {}
    if version_id is not None:
        more["secretsmanager:VersionId"] = (version_id,)
    if version_stage is not None or version_id is None:
        more["secretsmanager:VersionStage"] = (version_stage or CURRENT,)
    found = find(tx, caller, "GetSecretValue", secret_id, more=more)
    version = _chosen(found, version_id, version_stage)
    value = read_value(tx, caller, found, version)
    _accessed(tx, found, version)
    return {
        "ARN": found.arn,
        "Name": found.secret.name,
        "VersionId": version.id,
        **shown_value(value),
        "VersionStages": list(version.stages),
        "CreatedDate": version.created_at,
    }


@operation("BatchGetSecretValue")
def batch_get_secret_value(
    tx: Transaction, caller: Caller, *, secret_id_list: Sequence[str] | None = None,
    filters: Sequence[Document] | None = None, max_results: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """Return the current values of up to 20 secrets. Those that cannot be read are told one by one.

    Errors: InvalidParameterException (secrets and filters, or neither); InvalidNextTokenException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_BatchGetSecretValue.html
    """
    tx.services.authorize(tx, caller, "secretsmanager:BatchGetSecretValue", "*")
    if bool(secret_id_list) == bool(filters):
        raise invalid_parameter("Either 'SecretIdList' or 'Filters' must be provided, but not both.")
    token = None
    chosen = list(secret_id_list or ())
    if filters:
        count = max_results or limits.BATCH_PAGE
        names = [
            secret.name
            for secret in secrets_of(tx, caller.scope, read_page_token(next_token))
            if secret.deletion_at is None and passes(secret, caller.region, filters)
        ]
        chosen = names[:count]
        token = page_token(chosen[-1]) if len(names) > count else None
    values: list[Document] = []
    errors: list[Document] = []
    for secret_id in chosen:
        try:
            values.append(get_secret_value(tx, caller, secret_id=secret_id))
        except ServiceError as error:
            errors.append({"SecretId": secret_id, "ErrorCode": error.code, "Message": error.message})
    return {"SecretValues": values, "Errors": errors, "NextToken": token}


@operation("PutSecretValue")
def put_secret_value(
    tx: Transaction, caller: Caller, *, secret_id: str, client_request_token: str | None = None,
    secret_binary: bytes | None = None, secret_string: str | None = None,
    version_stages: Sequence[str] | None = None, rotation_token: str | None = None,  # noqa: ARG001 - it changes nothing here.
) -> Document:  # fmt: skip
    """Store a value as a new version, with the stage AWSCURRENT or others. The same again changes nothing.

    Errors: ResourceNotFoundException; ResourceExistsException (another value under this token);
    InvalidRequestException (deleted); InvalidParameterException (no value); EncryptionFailure.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
    """
    found = find(tx, caller, "PutSecretValue", secret_id)
    value = given_value(secret_string, secret_binary)
    if value is None:
        raise invalid_parameter("You must provide either SecretString or SecretBinary.")
    stages = tuple(version_stages or (CURRENT,))
    found, version_id = add_version(tx, caller, found, client_request_token, value, stages)
    version = found.secret.version(version_id)
    return {
        "ARN": found.arn,
        "Name": found.secret.name,
        "VersionId": version_id,
        "VersionStages": list(version.stages if version is not None else ()),
    }


@operation("UpdateSecretVersionStage")
def update_secret_version_stage(
    tx: Transaction, caller: Caller, *, secret_id: str, version_stage: str,
    remove_from_version_id: str | None = None, move_to_version_id: str | None = None,
) -> Document:  # fmt: skip
    """Move a stage to a version, or take it away. AWSPREVIOUS goes where AWSCURRENT has been.

    Errors: ResourceNotFoundException; InvalidParameterException (the stage is elsewhere; AWSCURRENT cannot be taken
    away); InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_UpdateSecretVersionStage.html
    """
    more = {"secretsmanager:VersionStage": (version_stage,)}
    found = find(tx, caller, "UpdateSecretVersionStage", secret_id, more=more)
    secret = found.secret
    holder = secret.with_stage(version_stage)
    if remove_from_version_id is not None and (holder is None or holder.id != remove_from_version_id):
        raise invalid_parameter(
            f"The staging label {version_stage} isn't currently attached to version {remove_from_version_id}."
        )
    if move_to_version_id is not None:
        if secret.version(move_to_version_id) is None:
            raise not_found(f"the specified secret value for VersionId: {move_to_version_id}")
        if holder is not None and holder.id not in (move_to_version_id, remove_from_version_id):
            raise invalid_parameter(
                f"The parameter RemoveFromVersionId can't be empty. Staging label {version_stage} is currently "
                f"attached to version {holder.id}, so name that version in RemoveFromVersionId."
            )
        versions = staged(secret.versions, move_to_version_id, (version_stage,))
    elif version_stage == CURRENT:
        raise invalid_parameter(
            "You can't remove the staging label AWSCURRENT from a version: move it to another version."
        )
    else:
        versions = tuple(
            replace(one, stages=tuple(stage for stage in one.stages if stage != version_stage))
            for one in secret.versions
        )
    tx.resources.put(found.scope, replace(secret, versions=versions, changed_at=tx.now))
    return {"ARN": found.arn, "Name": secret.name}


@operation("ListSecretVersionIds")
def list_secret_version_ids(
    tx: Transaction, caller: Caller, *, secret_id: str, max_results: int | None = None,
    next_token: str | None = None, include_deprecated: bool | None = None,
) -> Document:  # fmt: skip
    """List the versions of a secret; those without stages only if they are asked for.

    Errors: ResourceNotFoundException; InvalidNextTokenException.
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_ListSecretVersionIds.html
    """
    found = find(tx, caller, "ListSecretVersionIds", secret_id, is_kept=False)
    versions = [version for version in found.secret.versions if version.stages or include_deprecated]
    after = read_page_token(next_token)
    ids = [version.id for version in versions]
    begin = ids.index(after) + 1 if after in ids else 0
    page = versions[begin : begin + (max_results or limits.LIST_PAGE)]
    shown = [
        {
            "VersionId": version.id,
            "VersionStages": list(version.stages) or None,
            "LastAccessedDate": version.accessed_at,
            "CreatedDate": version.created_at,
            "KmsKeyIds": [found.secret.kms_key_id or "DefaultEncryptionKey"],
        }
        for version in page
    ]
    has_more = begin + len(page) < len(versions)
    return {
        "Versions": shown,
        "NextToken": page_token(page[-1].id) if has_more else None,
        "ARN": found.arn,
        "Name": found.secret.name,
    }


def _chosen(found: Found, version_id: str | None, stage: str | None) -> Version:
    """Return the version that a request names. Errors: ResourceNotFoundException; InvalidRequestException."""
    if version_id is None:
        version = found.secret.with_stage(stage or CURRENT)
        if version is None or not version.has_value:
            raise not_found(f"the specified secret value for staging label: {stage or CURRENT}")
        return version
    version = found.secret.version(version_id)
    if version is None or not version.has_value:
        raise not_found(f"the specified secret value for VersionId: {version_id}")
    if stage is not None and stage not in version.stages:
        raise invalid_request("You provided a VersionStage that is not associated to the provided VersionId.")
    return version


def _accessed(tx: Transaction, found: Found, version: Version) -> None:
    """Note the day on which a value was read. Most reads write nothing: the day is known already."""
    today = day_of(tx.now)
    if version.accessed_at == today and found.secret.accessed_at == today:
        return
    versions = tuple(replace(one, accessed_at=today) if one.id == version.id else one for one in found.secret.versions)
    tx.resources.put(found.scope, replace(found.secret, versions=versions, accessed_at=today))
