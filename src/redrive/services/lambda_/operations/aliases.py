"""The operations on aliases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.deletion import forget_alias
from redrive.services.lambda_.limits import PAGE_ITEMS_MAX
from redrive.services.lambda_.model.function import (
    Function,
    FunctionReference,
    function_not_found,
    invalid_parameter,
    lambda_error,
)
from redrive.services.lambda_.model.versions import Alias, alias_document, check_weights, qualified_name
from redrive.services.lambda_.operations.functions import authorized_reference, get_existing
from redrive.services.lambda_.provisions import tell_of_change
from redrive.services.lambda_.versions import aliases_of, find_version
from redrive.services.lambda_.watches import look_at_mappings_of
from redrive.store.api import Transaction


@operation("CreateAlias")
def create_alias(
    tx: Transaction, caller: Caller, *,
    function_name: str, name: str, function_version: str, description: str = "",
    routing_config: Document | None = None,
) -> Document:  # fmt: skip
    """Create an alias for a version; with `RoutingConfig`, a share of its runs uses a second version.

    Errors: ResourceNotFoundException (function, version); ResourceConflictException (the alias exists);
    InvalidParameterValueException, ValidationException (weights).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateAlias.html
    """
    reference = _function(tx, caller, "lambda:CreateAlias", function_name)
    arn = f"{reference.arn}:{name}"
    stored = qualified_name(reference.name, name)
    if tx.resources.get(Alias, caller.scope, stored) is not None:
        raise lambda_error("ResourceConflictException", f"Alias already exists: {arn}")
    alias = Alias(
        stored, arn, function_version, new_uuid(tx.entropy), description=description, weights=_weights(routing_config)
    )
    _check_versions(tx, reference, alias)
    tx.resources.put(caller.scope, alias)
    look_at_mappings_of(tx, caller.scope, reference.name)
    return alias_document(alias)


@operation("GetAlias")
def get_alias(tx: Transaction, caller: Caller, *, function_name: str, name: str) -> Document:
    """Return an alias.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetAlias.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetAlias", function_name)
    alias = tx.resources.get(Alias, caller.scope, qualified_name(reference.name, name))
    if alias is None:
        raise lambda_error("ResourceNotFoundException", f"Cannot find alias arn: {reference.arn}:{name}")
    return alias_document(alias)


@operation("ListAliases")
def list_aliases(
    tx: Transaction, caller: Caller, *,
    function_name: str, function_version: str | None = None, marker: str = "", max_items: int = PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """List the aliases of a function sorted by name, or those whose primary version is the given one.

    Errors: ResourceNotFoundException (function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListAliases.html
    """
    reference = _function(tx, caller, "lambda:ListAliases", function_name)
    found = [
        alias
        for alias in aliases_of(tx, caller.scope, reference.name)
        if function_version in (None, alias.version) and alias.alias_name > marker
    ]
    limit = min(max_items, PAGE_ITEMS_MAX)
    answer: Document = {"Aliases": [alias_document(alias) for alias in found[:limit]]}
    if len(found) > limit:
        answer["NextMarker"] = found[limit - 1].alias_name
    return answer


@operation("UpdateAlias")
def update_alias(
    tx: Transaction, caller: Caller, *,
    function_name: str, name: str, function_version: str | None = None, description: str | None = None,
    routing_config: Document | None = None, revision_id: str | None = None,
) -> Document:  # fmt: skip
    """Change parts of an alias; runs that begin from now on use its new versions. Empty weights remove the weights.

    Errors: ResourceNotFoundException (alias, version); PreconditionFailedException (revision);
    InvalidParameterValueException, ValidationException (weights).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateAlias.html
    """
    reference = authorized_reference(tx, caller, "lambda:UpdateAlias", function_name)
    alias = tx.resources.get(Alias, caller.scope, qualified_name(reference.name, name))
    if alias is None:
        raise lambda_error("ResourceNotFoundException", f"Alias not found: {reference.arn}:{name}")
    if revision_id is not None and revision_id != alias.revision:
        raise lambda_error(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to "
            "retrieve the latest Revision Id",
        )
    updated = replace(
        alias,
        version=function_version or alias.version,
        description=alias.description if description is None else description,
        weights=alias.weights if routing_config is None else _weights(routing_config),
        revision=new_uuid(tx.entropy),
    )
    _check_versions(tx, reference, updated)
    tx.resources.put(caller.scope, updated)
    look_at_mappings_of(tx, caller.scope, reference.name)
    tell_of_change(tx)
    return alias_document(updated)


@operation("DeleteAlias")
def delete_alias(tx: Transaction, caller: Caller, *, function_name: str, name: str) -> Document:
    """Delete an alias, if it exists.

    Errors: ResourceNotFoundException (function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteAlias.html
    """
    reference = _function(tx, caller, "lambda:DeleteAlias", function_name)
    forget_alias(tx, caller.scope, reference.name, name)
    return {}


def _function(tx: Transaction, caller: Caller, action: str, function_name: str) -> FunctionReference:
    """Return the function that a caller named, which exists. Errors: ResourceNotFoundException."""
    reference = authorized_reference(tx, caller, action, function_name)
    get_existing(tx, reference)
    return reference


def _weights(routing_config: Document | None) -> Mapping[str, float]:
    return dict((routing_config or {}).get("AdditionalVersionWeights") or {})


def _check_versions(tx: Transaction, reference: FunctionReference, alias: Alias) -> None:
    """Check the versions of an alias, and that two versions fit together.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/configuring-alias-routing.html
    """
    check_weights(alias.version, alias.weights)
    versions = [_existing_version(tx, reference, version) for version in (alias.version, *alias.weights)]
    if len({version.role for version in versions}) > 1 or len({one.dead_letter_arn for one in versions}) > 1:
        raise invalid_parameter(
            "The versions of an alias with weights must have the same execution role and the same dead-letter queue."
        )


def _existing_version(tx: Transaction, reference: FunctionReference, version: str) -> Function:
    function = find_version(tx, reference.scope, reference.name, version)
    if function is None:
        raise function_not_found(f"{reference.arn}:{version}")
    return function
