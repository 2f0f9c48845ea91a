"""The operations on exports and their imports."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudformation.deployment.run import importers
from redrive.services.cloudformation.model.exports import Export
from redrive.services.cloudformation.model.requests import page
from redrive.services.cloudformation.model.stack import stack_arn
from redrive.services.cloudformation.templates import validation_error
from redrive.store.api import Transaction


@operation("ListExports")
def list_exports(tx: Transaction, caller: Caller, *, next_token: str | None = None) -> Document:
    """List the exports of the stacks in this account and region, sorted by name.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListExports.html
    """
    tx.services.authorize(tx, caller, "cloudformation:ListExports", stack_arn(caller.scope, "*", "*"))
    shown, more = page(tx.resources.list(Export, caller.scope), lambda export: export.name, next_token)
    exports = [{"ExportingStackId": export.stack_id, "Name": export.name, "Value": export.value} for export in shown]
    return {"Exports": exports, **more}


@operation("ListImports")
def list_imports(tx: Transaction, caller: Caller, *, export_name: str, next_token: str | None = None) -> Document:
    """List the names of the stacks that import an export.

    Errors: ValidationError (no stack does).
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ListImports.html
    """
    tx.services.authorize(tx, caller, "cloudformation:ListImports", stack_arn(caller.scope, "*", "*"))
    users = importers(tx, caller.scope, export_name)
    if not users:
        raise validation_error(f"Export '{export_name}' is not imported by any stack.")
    shown, more = page(users, str, next_token)
    return {"Imports": list(shown), **more}
