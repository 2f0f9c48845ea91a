"""Contributor insights of tables and indexes: stored and shown. Nothing is counted for them."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.settings import Insights, describe_insights, rules_of
from redrive.services.dynamodb.model.table import invalid, refer_to_table, table_arn
from redrive.services.dynamodb.operations.tables import authorize, require_named_table
from redrive.store.api import Transaction


@operation("UpdateContributorInsights")
def update_contributor_insights(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    contributor_insights_action: str,
    index_name: str | None = None,
    contributor_insights_mode: str | None = None,
) -> Document:
    """Turn contributor insights of a table or an index on or off.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
    """
    table = require_named_table(tx, caller, authorize(tx, caller, "UpdateContributorInsights", table_name))
    name = table.name if index_name is None else f"{table.name}/{index_name}"
    known = tx.resources.get(Insights, table.scope, name)
    enable = contributor_insights_action == "ENABLE"
    mode = contributor_insights_mode or (limits.INSIGHTS_MODES[0] if known is None else known.mode)
    insights = Insights(table.name, index_name or "", mode, enable, tx.now)
    tx.resources.put(table.scope, insights)
    return describe_insights(insights, "ENABLING" if enable else "DISABLING")


@operation("DescribeContributorInsights")
def describe_contributor_insights(
    tx: Transaction, caller: Caller, *, table_name: str, index_name: str | None = None
) -> Document:
    """Show the contributor insights of a table or an index; they are off at first.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContributorInsights.html
    """
    table = require_named_table(tx, caller, authorize(tx, caller, "DescribeContributorInsights", table_name))
    name = table.name if index_name is None else f"{table.name}/{index_name}"
    insights = tx.resources.get(Insights, table.scope, name)
    if insights is None:
        asked = {} if index_name is None else {"IndexName": index_name}
        return {"TableName": table.name, **asked, "ContributorInsightsStatus": "DISABLED"}
    return {
        **describe_insights(insights, insights.status),
        "ContributorInsightsRuleList": rules_of(insights, table.id),
        "LastUpdateDateTime": insights.changed_at,
    }


@operation("ListContributorInsights")
def list_contributor_insights(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str | None = None,
    next_token: str | None = None,
    max_results: int | None = None,
) -> Document:
    """List the contributor insights of the caller's tables, or of one table with its indexes.

    Errors: ValidationException (fewer than one result).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListContributorInsights.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListContributorInsights", table_arn(caller.scope, "*"))
    if max_results is not None and max_results < 1:
        raise invalid(
            f"1 validation error detected: Value '{max_results}' at 'maxResults' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1"
        )
    prefix = "" if table_name is None else refer_to_table(caller, table_name).name
    size = max_results or limits.LIST_INSIGHTS_MAX
    found = tx.resources.list(Insights, caller.scope, prefix=prefix, after=next_token or "", limit=size + 1)
    shown = [each for each in found[:size] if not prefix or each.table_name == prefix]
    answer: Document = {"ContributorInsightsSummaries": [describe_insights(each, each.status) for each in shown]}
    if len(found) > size:
        answer["NextToken"] = found[size - 1].name
    return answer
