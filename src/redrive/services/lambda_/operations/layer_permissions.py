"""The operations on the policy of a layer version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import POLICY_BYTES_MAX
from redrive.services.lambda_.model.function import lambda_error
from redrive.services.lambda_.model.layers import LayerVersion, layer_policy
from redrive.services.lambda_.model.policy import policy_statement
from redrive.services.lambda_.operations.layers import authorized_layer, get_existing_version
from redrive.store.api import Transaction


@operation("AddLayerVersionPermission")
def add_layer_version_permission(
    tx: Transaction, caller: Caller, *,
    layer_name: str, version_number: int, statement_id: str, action: str, principal: str,
    organization_id: str | None = None, revision_id: str | None = None,
) -> Document:  # fmt: skip
    """Allow another account, or all accounts, to use a version of a layer.

    Errors: ResourceNotFoundException; ResourceConflictException (statement exists); PreconditionFailedException
    (revision); PolicyLengthExceededException (over 20 KB).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_AddLayerVersionPermission.html
    """
    scope, version = _authorized(tx, caller, "lambda:AddLayerVersionPermission", layer_name, version_number)
    _check_revision(version, revision_id)
    if any(statement["Sid"] == statement_id for statement in version.statements):
        raise lambda_error(
            "ResourceConflictException",
            f"The statement id ({statement_id}) provided already exists. Please provide a new statement id, or "
            "remove the existing statement.",
        )
    statement = policy_statement(
        sid=statement_id, action=action, principal=principal, resource=version.arn, source_arn=None,
        equals={"aws:PrincipalOrgID": organization_id},
    )  # fmt: skip
    statements = (*version.statements, statement)
    size = len(layer_policy(statements).encode())
    if size > POLICY_BYTES_MAX:
        raise lambda_error(
            "PolicyLengthExceededException",
            f"The final policy size ({size}) is bigger than the limit ({POLICY_BYTES_MAX}).",
        )
    changed = _store(tx, scope, version, statements)
    return {"Statement": dump_json(statement), "RevisionId": changed.policy_revision}


@operation("RemoveLayerVersionPermission")
def remove_layer_version_permission(
    tx: Transaction, caller: Caller, *,
    layer_name: str, version_number: int, statement_id: str, revision_id: str | None = None,
) -> Document:  # fmt: skip
    """Remove a statement from the policy of a layer version.

    Errors: ResourceNotFoundException (version, statement); PreconditionFailedException (revision).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_RemoveLayerVersionPermission.html
    """
    scope, version = _authorized(tx, caller, "lambda:RemoveLayerVersionPermission", layer_name, version_number)
    _check_revision(version, revision_id)
    statements = [one for one in version.statements if one["Sid"] != statement_id]
    if not version.statements:
        raise lambda_error("ResourceNotFoundException", "No policy is associated with the given resource.")
    if len(statements) == len(version.statements):
        raise lambda_error("ResourceNotFoundException", f"Statement {statement_id} is not found in resource policy.")
    _store(tx, scope, version, statements)
    return {}


@operation("GetLayerVersionPolicy")
def get_layer_version_policy(tx: Transaction, caller: Caller, *, layer_name: str, version_number: int) -> Document:
    """Return the policy of a layer version.

    Errors: ResourceNotFoundException (version, or it has no policy).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetLayerVersionPolicy.html
    """
    _, version = _authorized(tx, caller, "lambda:GetLayerVersionPolicy", layer_name, version_number)
    if not version.statements:
        raise lambda_error("ResourceNotFoundException", "No policy is associated with the given resource.")
    return {"Policy": layer_policy(version.statements), "RevisionId": version.policy_revision}


def _authorized(
    tx: Transaction, caller: Caller, action: str, layer_name: str, version_number: int
) -> tuple[Scope, LayerVersion]:
    scope, name = authorized_layer(tx, caller, action, layer_name, version_number)
    return scope, get_existing_version(tx, scope, name, version_number)


def _check_revision(version: LayerVersion, revision_id: str | None) -> None:
    if revision_id is not None and revision_id != version.policy_revision:
        raise lambda_error(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetLayerPolicy API to retrieve "
            "the latest Revision Id",
        )


def _store(tx: Transaction, scope: Scope, version: LayerVersion, statements: Sequence[Document]) -> LayerVersion:
    changed = replace(
        version,
        statements=tuple(statements),
        policy_revision=new_uuid(tx.entropy) if statements else "",
    )
    tx.resources.put(scope, changed)
    return changed
