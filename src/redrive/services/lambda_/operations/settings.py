"""The operations on settings of functions outside of their configuration, and on the account."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import (
    CODE_BYTES_IN_ALL_MAX,
    CONCURRENCY_MAX,
    UNZIPPED_BYTES_MAX,
    ZIP_BYTES_MAX,
)
from redrive.services.lambda_.model.function import Function, invalid_parameter
from redrive.services.lambda_.model.layers import LayerVersion
from redrive.services.lambda_.model.versions import FunctionVersion
from redrive.services.lambda_.operations.functions import authorized_function, authorized_reference
from redrive.services.lambda_.versions import get_version, put_version
from redrive.store.api import Transaction


@operation("GetAccountSettings")
def get_account_settings(tx: Transaction, caller: Caller) -> Document:
    """Return the quotas of Lambda in this region, and how much of them is used.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetAccountSettings.html
    """
    tx.services.authorize(tx, caller, "lambda:GetAccountSettings", "*")
    functions = tx.resources.list(Function, caller.scope)
    versions = tx.resources.list(FunctionVersion, caller.scope)
    layers = tx.resources.list(LayerVersion, caller.scope)
    reserved = sum(function.reserved or 0 for function in functions)
    return {
        "AccountLimit": {
            "TotalCodeSize": CODE_BYTES_IN_ALL_MAX,
            "CodeSizeUnzipped": UNZIPPED_BYTES_MAX,
            "CodeSizeZipped": ZIP_BYTES_MAX,
            "ConcurrentExecutions": CONCURRENCY_MAX,
            "UnreservedConcurrentExecutions": CONCURRENCY_MAX - reserved,
        },
        "AccountUsage": {
            "TotalCodeSize": sum(one.code_size for one in functions)
            + sum(one.function.code_size for one in versions)
            + sum(one.code_size for one in layers),
            "FunctionCount": len(functions),
        },
    }


@operation("PutFunctionRecursionConfig")
def put_function_recursion_config(
    tx: Transaction, caller: Caller, *, function_name: str, recursive_loop: str
) -> Document:
    """Set whether Lambda stops a recursive loop of a function.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionRecursionConfig.html
    """
    function = authorized_function(tx, caller, "lambda:PutFunctionRecursionConfig", function_name)
    tx.resources.put(caller.scope, replace(function, recursive_loop=recursive_loop))
    return {"RecursiveLoop": recursive_loop}


@operation("GetFunctionRecursionConfig")
def get_function_recursion_config(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Return whether Lambda may stop a recursive loop of a function: Terminate by default.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionRecursionConfig.html
    """
    function = authorized_function(tx, caller, "lambda:GetFunctionRecursionConfig", function_name)
    return {"RecursiveLoop": function.recursive_loop}


@operation("PutRuntimeManagementConfig")
def put_runtime_management_config(
    tx: Transaction, caller: Caller, *,
    function_name: str, update_runtime_on: str, qualifier: str | None = None, runtime_version_arn: str | None = None,
) -> Document:  # fmt: skip
    """Set when a function's runtime is updated. The value is only stored and shown: runtimes are those of this machine.

    Errors: ResourceNotFoundException; InvalidParameterValueException (Manual without a version).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutRuntimeManagementConfig.html
    """
    reference = authorized_reference(tx, caller, "lambda:PutRuntimeManagementConfig", function_name, qualifier)
    function = get_version(tx, reference)
    if update_runtime_on == "Manual" and not runtime_version_arn:
        raise invalid_parameter("RuntimeVersionArn is required when UpdateRuntimeOn is Manual.")
    changed = replace(function, update_runtime_on=update_runtime_on, runtime_version_arn=runtime_version_arn or "")
    put_version(tx, caller.scope, changed)
    return _runtime_management(changed)


@operation("GetRuntimeManagementConfig")
def get_runtime_management_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document:
    """Return when a function's runtime is updated: Auto by default.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetRuntimeManagementConfig.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetRuntimeManagementConfig", function_name, qualifier)
    return _runtime_management(get_version(tx, reference))


def _runtime_management(function: Function) -> Document:
    document: Document = {
        "UpdateRuntimeOn": function.update_runtime_on,
        "FunctionArn": f"{function.arn}:{function.version}",
    }
    if function.runtime_version_arn:
        document["RuntimeVersionArn"] = function.runtime_version_arn
    return document
