"""ListLogGroups."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.model.group import LogGroup, invalid_parameter, policy_arn
from redrive.services.logs.model.policies import FIELD_INDEX, AccountPolicy, IndexPolicy, indexed_fields
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.store.api import Transaction
from redrive.store.tables.resources import PAGE_MAX


@operation("ListLogGroups")
def list_log_groups(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name_pattern: str | None = None,
    log_group_class: str | None = None,
    include_linked_accounts: bool | None = None,
    account_identifiers: Sequence[str] | None = None,
    next_token: str | None = None,
    limit: int | None = None,
    data_sources: Sequence[Document] | None = None,
    field_index_names: Sequence[str] | None = None,
    log_group_tags: Sequence[Document] | None = None,
) -> Document:
    """List log groups by name: those whose names have one of the parts of a pattern, `^` for a beginning.

    Errors: InvalidParameterException (data sources, an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_ListLogGroups.html
    """
    tx.services.authorize(tx, caller, "logs:ListLogGroups", policy_arn(caller.scope, ""))
    if data_sources:
        raise invalid_parameter("redrive does not serve data sources.")
    if include_linked_accounts and account_identifiers and caller.account not in account_identifiers:
        return {"logGroups": []}
    after = "" if next_token is None else str(read_list_token(next_token)[0])
    parts = log_group_name_pattern.split("|") if log_group_name_pattern else []
    found = [
        group
        for group in tx.resources.list(LogGroup, caller.scope, after=after, limit=PAGE_MAX)
        if (not parts or any(_has(group.name, part) for part in parts))
        and log_group_class in (None, group.group_class.value)
        and (not field_index_names or _indexed(tx, caller, group.name) >= set(field_index_names))
        and all(_has_tag(group, wanted) for wanted in log_group_tags or ())
    ]
    size = limit or limits.DESCRIBED_MAX
    page = found[:size]
    shown = [
        {
            "logGroupName": group.name, "logGroupArn": group.arn(caller.scope),
            "logGroupClass": group.group_class.value,
        }
        for group in page
    ]  # fmt: skip
    return {"logGroups": shown, "nextToken": list_token(page[-1].name) if len(found) > size else None}


def _has(name: str, part: str) -> bool:
    return name.startswith(part[1:]) if part.startswith("^") else part in name


def _indexed(tx: Transaction, caller: Caller, group_name: str) -> set[str]:
    own = tx.resources.get(IndexPolicy, caller.scope, group_name)
    if own is not None:
        return set(indexed_fields(own.document))
    policies = tx.resources.list(AccountPolicy, caller.scope, prefix=f"{FIELD_INDEX}/")
    return {name for policy in policies for name in indexed_fields(policy.document)}


def _has_tag(group: LogGroup, wanted: Document) -> bool:
    """Whether a group has a tag with one of the values; in these, `*` is any text at an end, `!` the opposite."""
    value = group.tags.get(str(wanted["key"]))
    if value is None:
        return False
    values = [str(one) for one in wanted.get("values") or ()]
    return not values or any(_fits(value, one) for one in values)


def _fits(value: str, pattern: str) -> bool:
    if pattern.startswith("!"):
        return not _fits(value, pattern[1:])
    text = pattern.strip("*")
    if pattern.startswith("*"):
        return text in value if pattern.endswith("*") else value.endswith(text)
    return value.startswith(text) if pattern.endswith("*") else value == text
