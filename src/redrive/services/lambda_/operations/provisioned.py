"""The operations on provisioned concurrency of versions and aliases."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import CONCURRENCY_MAX, CONCURRENCY_UNRESERVED_MIN, PAGE_ITEMS_MAX
from redrive.services.lambda_.model.function import (
    LATEST,
    Function,
    FunctionReference,
    function_not_found,
    invalid_parameter,
    lambda_error,
)
from redrive.services.lambda_.model.provisioned import ProvisionedConcurrency, provisioned_document
from redrive.services.lambda_.model.versions import Alias, qualified_name
from redrive.services.lambda_.operations.functions import authorized_function, authorized_reference
from redrive.services.lambda_.provisions import tell_of_change
from redrive.services.lambda_.versions import aliases_of, find_version
from redrive.store.api import Transaction


@operation("PutProvisionedConcurrencyConfig")
def put_provisioned_concurrency_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str, provisioned_concurrent_executions: int
) -> Document:
    """Provision concurrency for a version or an alias. The answer is IN_PROGRESS; later answers are READY.

    A server in real time starts that many environments, and keeps them; READY does not wait for them.

    Errors: ResourceNotFoundException; InvalidParameterValueException ($LATEST; more than is reserved or left);
    ResourceConflictException (the version of an alias, or an alias of the version, is provisioned).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutProvisionedConcurrencyConfig.html
    """
    reference = authorized_reference(
        tx, caller, "lambda:PutProvisionedConcurrencyConfig", function_name, qualifier
    )  # fmt: skip
    if reference.qualifier == LATEST:
        raise invalid_parameter("Provisioned Concurrency Configs cannot be applied to unpublished function versions.")
    function = _existing(tx, reference)
    _check_exclusive(tx, caller.scope, reference)
    _check_room(tx, caller.scope, function, qualifier, provisioned_concurrent_executions)
    name = qualified_name(reference.name, str(reference.qualifier))
    config = ProvisionedConcurrency(name, reference.arn, provisioned_concurrent_executions, tx.now)
    tx.resources.put(caller.scope, config)
    tell_of_change(tx)
    return {
        "RequestedProvisionedConcurrentExecutions": config.requested,
        "AllocatedProvisionedConcurrentExecutions": 0,
        "AvailableProvisionedConcurrentExecutions": 0,
        "Status": "IN_PROGRESS",
        "LastModified": provisioned_document(config, is_ready=False)["LastModified"],
    }


@operation("GetProvisionedConcurrencyConfig")
def get_provisioned_concurrency_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str
) -> Document:
    """Return the provisioned concurrency of a version or an alias.

    Errors: ResourceNotFoundException; ProvisionedConcurrencyConfigNotFoundException; InvalidParameterValueException
    ($LATEST).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetProvisionedConcurrencyConfig.html
    """
    reference = _published(tx, caller, "lambda:GetProvisionedConcurrencyConfig", function_name, qualifier)
    name = qualified_name(reference.name, str(reference.qualifier))
    config = tx.resources.get(ProvisionedConcurrency, caller.scope, name)
    if config is None:
        raise lambda_error(
            "ProvisionedConcurrencyConfigNotFoundException",
            "No Provisioned Concurrency Config found for this function",
        )
    return provisioned_document(config, is_ready=config.is_ready(tx.now))


@operation("ListProvisionedConcurrencyConfigs")
def list_provisioned_concurrency_configs(
    tx: Transaction, caller: Caller, *, function_name: str, marker: str = "", max_items: int = PAGE_ITEMS_MAX
) -> Document:
    """List the provisioned concurrency of a function's versions and aliases.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListProvisionedConcurrencyConfigs.html
    """
    function = authorized_function(tx, caller, "lambda:ListProvisionedConcurrencyConfigs", function_name)
    found = tx.resources.list(
        ProvisionedConcurrency, caller.scope, prefix=f"{function.name}:", after=marker, limit=max_items + 1
    )
    page = found[:max_items]
    answer: Document = {
        "ProvisionedConcurrencyConfigs": [
            {
                "FunctionArn": f"{one.function_arn}:{one.qualifier}",
                **provisioned_document(one, is_ready=one.is_ready(tx.now)),
            }
            for one in page
        ]
    }
    if len(found) > max_items:
        answer["NextMarker"] = page[-1].name
    return answer


@operation("DeleteProvisionedConcurrencyConfig")
def delete_provisioned_concurrency_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str
) -> Document:
    """Remove the provisioned concurrency of a version or an alias, if it has any.

    Errors: ResourceNotFoundException; InvalidParameterValueException ($LATEST).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteProvisionedConcurrencyConfig.html
    """
    reference = _published(tx, caller, "lambda:DeleteProvisionedConcurrencyConfig", function_name, qualifier)
    tx.resources.delete(ProvisionedConcurrency, caller.scope, qualified_name(reference.name, str(reference.qualifier)))
    tell_of_change(tx)
    return {}


def _published(tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str) -> FunctionReference:
    """Return the version or alias that a caller named."""
    reference = authorized_reference(tx, caller, action, function_name, qualifier)
    if reference.qualifier == LATEST:
        raise invalid_parameter("The function resource provided must be an alias or a published version.")
    _existing(tx, reference)
    return reference


def _existing(tx: Transaction, reference: FunctionReference) -> Function:
    """Return the version that a qualifier means. Errors: ResourceNotFoundException."""
    function = find_version(tx, reference.scope, reference.name, reference.qualifier)
    if function is not None:
        return function
    if reference.qualifier is not None and not reference.qualifier.isdecimal():
        raise lambda_error("ResourceNotFoundException", f"Cannot find alias arn: {reference.qualified_arn}")
    raise function_not_found(reference.qualified_arn)


def _check_exclusive(tx: Transaction, scope: Scope, reference: FunctionReference) -> None:
    """Refuse to provision both an alias and its version. Errors: ResourceConflictException."""

    def is_provisioned(qualifier: str) -> bool:
        name = qualified_name(reference.name, qualifier)
        return tx.resources.get(ProvisionedConcurrency, scope, name) is not None

    qualifier = str(reference.qualifier)
    alias = tx.resources.get(Alias, scope, qualified_name(reference.name, qualifier))
    if alias is not None:
        if any(is_provisioned(version) for version in (alias.version, *alias.weights)):
            raise _conflict(
                "Alias can't be used for Provisioned Concurrency configuration on an already Provisioned version"
            )
        return
    aliases = aliases_of(tx, scope, reference.name)
    if any(qualifier in (one.version, *one.weights) and is_provisioned(one.alias_name) for one in aliases):
        raise _conflict("Version is pointed by a Provisioned Concurrency alias")


def _conflict(message: str) -> ServiceError:
    return lambda_error("ResourceConflictException", message)


def provisioned_elsewhere(tx: Transaction, scope: Scope, function_name: str, qualifier: str = "") -> int:
    """Return the provisioned concurrency of a function, without that of one qualifier."""
    configs = tx.resources.list(ProvisionedConcurrency, scope, prefix=f"{function_name}:")
    return sum(one.requested for one in configs if one.qualifier != qualifier)


def _check_room(tx: Transaction, scope: Scope, function: Function, qualifier: str, wanted: int) -> None:
    """Refuse more than the function has reserved, or than the account has left.

    Errors: InvalidParameterValueException.
    """
    total = provisioned_elsewhere(tx, scope, function.name, qualifier) + wanted
    if function.reserved is not None:
        if total > function.reserved:
            raise invalid_parameter(
                "Requested Provisioned Concurrency should not be greater than the reservedConcurrentExecution for "
                "function"
            )
        return
    reserved = {one.name: one.reserved for one in tx.resources.list(Function, scope) if one.reserved is not None}
    others = sum(
        one.requested
        for one in tx.resources.list(ProvisionedConcurrency, scope)
        if one.name.partition(":")[0] not in {*reserved, function.name}
    )
    left = CONCURRENCY_MAX - CONCURRENCY_UNRESERVED_MIN - sum(reserved.values()) - others
    if total > left:
        raise invalid_parameter(
            f"Specified ConcurrentExecutions for function is greater than account's unreserved concurrency [{left}]."
        )
