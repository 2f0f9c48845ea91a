"""What is deleted together with a function, a version or an alias."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.scope import Scope
from redrive.services.lambda_.code import forget_unused_code, layer_digests
from redrive.services.lambda_.model.event_invoke import EventInvokeConfig
from redrive.services.lambda_.model.function import Function, lambda_error
from redrive.services.lambda_.model.provisioned import ProvisionedConcurrency
from redrive.services.lambda_.model.urls import FunctionUrl
from redrive.services.lambda_.model.versions import Alias, FunctionVersion, qualified_name, version_name
from redrive.services.lambda_.provisions import tell_of_change
from redrive.services.lambda_.versions import aliases_of, versions_of
from redrive.store.api import Transaction


def forget_function(tx: Transaction, scope: Scope, function: Function) -> None:
    """Delete a function with its versions, aliases and configurations."""
    versions, aliases = versions_of(tx, scope, function.name), aliases_of(tx, scope, function.name)
    for alias in aliases:
        tx.resources.delete(Alias, scope, alias.name)
    for version in versions:
        tx.resources.delete(FunctionVersion, scope, version.name)
    for url in tx.resources.list(FunctionUrl, scope, prefix=f"{function.name}:"):
        tx.resources.delete(FunctionUrl, scope, url.name)
    tx.resources.delete(FunctionUrl, scope, function.name)
    for provisioned in tx.resources.list(ProvisionedConcurrency, scope, prefix=f"{function.name}:"):
        tx.resources.delete(ProvisionedConcurrency, scope, provisioned.name)
        tell_of_change(tx)
    for config in tx.resources.list(EventInvokeConfig, scope, prefix=f"{function.name}:"):
        tx.resources.delete(EventInvokeConfig, scope, config.name)
    tx.resources.delete(EventInvokeConfig, scope, function.name)
    tx.resources.delete(Function, scope, function.name)
    functions = [function, *(version.function for version in versions)]
    digests = [digest for one in functions for digest in (one.code_digest, *layer_digests(one))]
    forget_unused_code(tx, function.replaced_digest, *digests)


def forget_version(tx: Transaction, scope: Scope, function: Function, number: int) -> None:
    """Delete a version of a function, if it exists. Errors: ResourceConflictException (an alias uses the version).

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunction.html
    """
    version = tx.resources.get(FunctionVersion, scope, version_name(function.name, number))
    if version is None:
        return
    users = [
        alias.alias_name
        for alias in aliases_of(tx, scope, function.name)
        if version.function.version in (alias.version, *alias.weights)
    ]
    if users:
        raise lambda_error(
            "ResourceConflictException",
            f"Unable to delete version because the following aliases reference it: [{', '.join(users)}]",
        )
    tx.resources.delete(FunctionVersion, scope, version.name)
    _forget_qualifier(tx, scope, function, version.function.version)
    forget_unused_code(tx, version.function.code_digest, *layer_digests(version.function))


def forget_alias(tx: Transaction, scope: Scope, function_name: str, alias_name: str) -> None:
    """Delete an alias, if it exists, with its policy and its event configuration."""
    function = tx.resources.get(Function, scope, function_name)
    if tx.resources.delete(Alias, scope, qualified_name(function_name, alias_name)) and function is not None:
        _forget_qualifier(tx, scope, function, alias_name)


def _forget_qualifier(tx: Transaction, scope: Scope, function: Function, qualifier: str) -> None:
    """Delete what belongs to a version or an alias that is deleted."""
    name = qualified_name(function.name, qualifier)
    tx.resources.delete(EventInvokeConfig, scope, name)
    if tx.resources.delete(ProvisionedConcurrency, scope, name):
        tell_of_change(tx)
    if qualifier in function.policies:
        left = {name: policy for name, policy in function.policies.items() if name != qualifier}
        tx.resources.put(scope, replace(function, policies=left))
