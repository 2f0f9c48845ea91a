"""The operations on dashboards, which an account has in all regions alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags, resource_tags
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.alarm_requests import read_alarm_tags
from redrive.services.cloudwatch.model.dashboard import (
    Dashboard,
    Finding,
    dashboard_arn,
    dashboard_scope,
    findings_in,
    is_dashboard_name,
)
from redrive.services.cloudwatch.model.metric import INVALID_VALUE, too_many
from redrive.services.cloudwatch.model.tokens import read_token, write_token
from redrive.store.api import Transaction

_NAME_TEXT = (
    "The value for field DashboardName contains invalid characters. "
    "It can only contain alphanumerics, dash (-) and underscore (_).\n"
)


@operation("PutDashboard")
def put_dashboard(
    tx: Transaction, caller: Caller, *, dashboard_name: str, dashboard_body: str,
    tags: Sequence[Mapping[str, str]] | None = None,
) -> Document:  # fmt: skip
    """Create or replace a dashboard. Warnings about its body are returned; errors refuse it. Tags count at creation.

    Errors: InvalidParameterValue (the name); InvalidParameterInput (the body), with all that is wrong with it.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutDashboard.html
    """
    given = read_alarm_tags(tags)
    known = _authorized(tx, caller, "PutDashboard", dashboard_name, given)
    if not is_dashboard_name(dashboard_name):
        raise ServiceError(INVALID_VALUE, _NAME_TEXT)
    found = findings_in(dashboard_body)
    errors = [one for one in found if one.is_error]
    if errors:
        raise _invalid(errors)
    kept = given if known is None else known.tags
    tx.resources.put(dashboard_scope(caller.scope), Dashboard(dashboard_name, dashboard_body, tx.now, kept))
    return {"DashboardValidationMessages": [_message(one) for one in found]}


@operation("GetDashboard")
def get_dashboard(tx: Transaction, caller: Caller, *, dashboard_name: str) -> Document:
    """Return a dashboard with its body as it was given. Errors: ResourceNotFound.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetDashboard.html
    """
    dashboard = _authorized(tx, caller, "GetDashboard", dashboard_name)
    if dashboard is None:
        raise _not_found(dashboard_name)
    return {
        "DashboardArn": dashboard_arn(caller.scope, dashboard.name),
        "DashboardBody": dashboard.body,
        "DashboardName": dashboard.name,
    }


@operation("ListDashboards")
def list_dashboards(
    tx: Transaction, caller: Caller, *, dashboard_name_prefix: str | None = None, next_token: str | None = None
) -> Document:
    """List dashboards by name, 1,000 a page. Errors: InvalidParameterValue (the token).

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListDashboards.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:ListDashboards", dashboard_arn(caller.scope, "*"))
    after = "" if next_token is None else read_token(next_token, dashboard_name_prefix)
    if not isinstance(after, str):
        raise ServiceError(INVALID_VALUE, "The value for parameter NextToken is invalid.")
    size = limits.DASHBOARDS_PER_PAGE
    scope = dashboard_scope(caller.scope)
    found = tx.resources.list(Dashboard, scope, prefix=dashboard_name_prefix or "", after=after, limit=size + 1)
    shown = [
        {
            "DashboardName": one.name, "DashboardArn": dashboard_arn(caller.scope, one.name),
            "LastModified": one.modified_at, "Size": one.size,
        }
        for one in found[:size]
    ]  # fmt: skip
    token = write_token(dashboard_name_prefix, found[size - 1].name) if len(found) > size else None
    return {"DashboardEntries": shown, "NextToken": token}


@operation("DeleteDashboards")
def delete_dashboards(tx: Transaction, caller: Caller, *, dashboard_names: Sequence[str]) -> Document:
    """Delete dashboards. Errors: InvalidParameterValue; ResourceNotFound, and then none is deleted.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteDashboards.html
    """
    names = list(dict.fromkeys(dashboard_names))
    if len(names) > limits.DASHBOARDS_DELETED_MAX:
        raise ServiceError(INVALID_VALUE, too_many("DashboardNames", limits.DASHBOARDS_DELETED_MAX))
    for name in names:
        if _authorized(tx, caller, "DeleteDashboards", name) is None:
            raise _not_found(name)
    for name in names:
        tx.resources.delete(Dashboard, dashboard_scope(caller.scope), name)
    return {}


def _authorized(
    tx: Transaction, caller: Caller, operation_name: str, name: str, tags: Mapping[str, str] | None = None
) -> Dashboard | None:  # fmt: skip
    """Ask whether the caller may do something to a dashboard; return it, or None if there is none."""
    dashboard = tx.resources.get(Dashboard, dashboard_scope(caller.scope), name)
    context = {} if dashboard is None else dict(resource_tags(dashboard.tags))
    if tags:
        context |= request_tags(tags)
    arn = dashboard_arn(caller.scope, name)
    tx.services.authorize(tx, caller, f"cloudwatch:{operation_name}", arn, context=context)
    return dashboard


def _message(finding: Finding) -> Document:
    return {"DataPath": finding.path, "Message": finding.message}


def _invalid(errors: Sequence[Finding]) -> ServiceError:
    told = [{"dataPath": one.path, "message": one.message} for one in errors]
    return ServiceError(
        "DashboardInvalidInputError",
        f"The dashboard body is invalid, there are {len(errors)} validation errors: {dump_json(told)}",
        members={"dashboardValidationMessages": [_message(one) for one in errors]},
    )


def _not_found(name: str) -> ServiceError:
    return ServiceError("DashboardNotFoundError", f"Dashboard {name} does not exist")
