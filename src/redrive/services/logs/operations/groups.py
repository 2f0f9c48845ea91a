"""The operations on log groups and their retention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.services.logs import limits
from redrive.services.logs.filters import delete_filters, metric_filters_of
from redrive.services.logs.model.group import (
    RESERVED_PREFIX,
    GroupClass,
    LogGroup,
    LogStream,
    check_tags,
    group_name_of,
    invalid_parameter,
    no_such_group,
    policy_arn,
)
from redrive.services.logs.model.policies import IndexPolicy
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.retention import RETENTION
from redrive.store.api import Transaction
from redrive.store.tables.resources import PAGE_MAX


@operation("CreateLogGroup")
def create_log_group(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str,
    kms_key_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    log_group_class: str | None = None,
    deletion_protection_enabled: bool | None = None,
) -> Document:
    """Create a log group whose events never expire.

    Errors: ResourceAlreadyExistsException; InvalidParameterException (a name or a tag reserved for AWS).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
    """
    tx.services.authorize(tx, caller, "logs:CreateLogGroup", policy_arn(caller.scope, log_group_name))
    if log_group_name.lower().startswith(RESERVED_PREFIX):
        raise invalid_parameter("Log groups starting with AWS/ are reserved for AWS.")
    check_tags(tags or {})
    if tx.resources.get(LogGroup, caller.scope, log_group_name) is not None:
        raise ServiceError("ResourceAlreadyExistsException", "The specified log group already exists")
    group = LogGroup(
        name=log_group_name,
        id=new_uuid(tx.entropy),
        created_at=tx.now,
        group_class=GroupClass(log_group_class or GroupClass.STANDARD.value),
        kms_key_id=kms_key_id,
        is_protected=bool(deletion_protection_enabled),
        tags=dict(tags or {}),
    )
    tx.resources.put(caller.scope, group)
    return {}


@operation("DeleteLogGroup")
def delete_log_group(tx: Transaction, caller: Caller, *, log_group_name: str) -> Document:
    """Delete a log group with its streams and events.

    Errors: ResourceNotFoundException; ValidationException if the group is protected from deletion.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteLogGroup.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteLogGroup", policy_arn(caller.scope, log_group_name))
    group = existing_group(tx, caller, log_group_name)
    check_unprotected(group)
    while streams := tx.resources.list(LogStream, caller.scope, prefix=f"{group.id}/", limit=PAGE_MAX):
        for stream in streams:
            tx.resources.delete(LogStream, caller.scope, stream.name)
    delete_filters(tx, caller.scope, group.id)
    tx.resources.delete(IndexPolicy, caller.scope, group.name)
    forget_rows(tx, "log_events", group.id)
    tx.resources.delete(LogGroup, caller.scope, group.name)
    return {}


@operation("PutLogGroupDeletionProtection")
def put_log_group_deletion_protection(
    tx: Transaction, caller: Caller, *, log_group_identifier: str, deletion_protection_enabled: bool
) -> Document:
    """Turn the deletion protection of a log group and its streams on or off.

    Errors: ResourceNotFoundException; InvalidParameterException (not a log group's ARN).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogGroupDeletionProtection.html
    """
    name = group_name_of(caller.scope, None, log_group_identifier)
    tx.services.authorize(tx, caller, "logs:PutLogGroupDeletionProtection", policy_arn(caller.scope, name))
    group = existing_group(tx, caller, name)
    tx.resources.put(caller.scope, replace(group, is_protected=deletion_protection_enabled))
    return {}


@operation("DescribeLogGroups")
def describe_log_groups(
    tx: Transaction,
    caller: Caller,
    *,
    account_identifiers: Sequence[str] | None = None,
    log_group_name_prefix: str | None = None,
    log_group_name_pattern: str | None = None,
    next_token: str | None = None,
    limit: int | None = None,
    include_linked_accounts: bool | None = None,
    log_group_class: str | None = None,
    log_group_identifiers: Sequence[str] | None = None,
) -> Document:
    """List log groups by name. There are no linked accounts here.

    Errors: InvalidParameterException (prefix and pattern together, identifiers with another filter, an invalid token).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeLogGroups.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeLogGroups", policy_arn(caller.scope, ""))
    if log_group_name_prefix is not None and log_group_name_pattern is not None:
        raise invalid_parameter("LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.")
    others = (log_group_name_prefix, log_group_name_pattern, log_group_class, limit, next_token)
    if log_group_identifiers is not None and any(other is not None for other in others):
        raise invalid_parameter("LogGroup identifiers cannot be combined with other filters.")
    if include_linked_accounts and account_identifiers and caller.account not in account_identifiers:
        return {"logGroups": []}
    names = None
    if log_group_identifiers is not None:
        names = {group_name_of(caller.scope, None, identifier) for identifier in log_group_identifiers}
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    found = [
        group
        for group in _groups(tx, caller, log_group_name_prefix or "", after)
        if (names is None or group.name in names)
        and (log_group_name_pattern or "") in group.name
        and (log_group_class is None or _is_of_class(group, log_group_class))
    ]
    page = found[: limit or limits.DESCRIBED_MAX]
    shown = [
        {**group.described(caller.scope), "metricFilterCount": len(metric_filters_of(tx, caller.scope, group.id))}
        if log_group_name_pattern is None
        else group.described_briefly(caller.scope)
        for group in page
    ]
    return {"logGroups": shown, "nextToken": list_token(page[-1].name) if len(found) > len(page) else None}


@operation("PutRetentionPolicy")
def put_retention_policy(tx: Transaction, caller: Caller, *, log_group_name: str, retention_in_days: int) -> Document:
    """Set the retention of a group's events, in days.

    Errors: ResourceNotFoundException; InvalidParameterException for a number of days that AWS does not offer.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
    """
    tx.services.authorize(tx, caller, "logs:PutRetentionPolicy", policy_arn(caller.scope, log_group_name))
    group = existing_group(tx, caller, log_group_name)
    if retention_in_days not in limits.RETENTION_DAYS:
        raise invalid_parameter(
            f"1 validation error detected: Value '{retention_in_days}' at 'retentionInDays' failed to satisfy "
            f"constraint: Member must satisfy enum value set: {list(limits.RETENTION_DAYS)}"
        )
    group = replace(group, retention_days=retention_in_days)
    tx.resources.put(caller.scope, group)
    wake_sweep(tx, RETENTION)
    return {}


@operation("DeleteRetentionPolicy")
def delete_retention_policy(tx: Transaction, caller: Caller, *, log_group_name: str) -> Document:
    """Remove the retention of a group; its events never expire.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteRetentionPolicy.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteRetentionPolicy", policy_arn(caller.scope, log_group_name))
    group = existing_group(tx, caller, log_group_name)
    tx.resources.put(caller.scope, replace(group, retention_days=None))
    return {}


def existing_group(tx: Transaction, caller: Caller, name: str) -> LogGroup:
    """Return the group with this name. Errors: ResourceNotFoundException."""
    group = tx.resources.get(LogGroup, caller.scope, name)
    if group is None:
        raise no_such_group()
    return group


def check_unprotected(group: LogGroup) -> None:
    """Refuse to delete a protected group. Errors: ValidationException."""
    if group.is_protected:
        message = (
            "The log group has deletion protection enabled. Disable deletion protection before you delete from it."
        )
        raise ServiceError("ValidationException", message)


def _groups(tx: Transaction, caller: Caller, prefix: str, after: str) -> Iterator[LogGroup]:
    """Yield all groups with a prefix and after a name, sorted by name."""
    while page := tx.resources.list(LogGroup, caller.scope, prefix=prefix, after=after, limit=PAGE_MAX):
        yield from page
        after = page[-1].name


def _is_of_class(group: LogGroup, wanted: str) -> bool:
    """Whether a group has the wanted class. AWS lists the two cheaper classes as one."""
    cheap = {GroupClass.INFREQUENT_ACCESS.value, GroupClass.ESSENTIALS.value}
    return group.group_class.value in (cheap if wanted in cheap else {wanted})
