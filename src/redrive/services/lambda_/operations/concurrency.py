"""The operations on a function's reserved concurrency."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import CONCURRENCY_MAX, CONCURRENCY_UNRESERVED_MIN
from redrive.services.lambda_.model.function import Function, invalid_parameter
from redrive.services.lambda_.operations.functions import authorized_function, authorized_reference, get_existing
from redrive.services.lambda_.operations.provisioned import provisioned_elsewhere
from redrive.services.lambda_.watches import look_at_mappings_of
from redrive.store.api import Transaction


@operation("PutFunctionConcurrency")
def put_function_concurrency(
    tx: Transaction, caller: Caller, *, function_name: str, reserved_concurrent_executions: int
) -> Document:
    """Reserve concurrency for a function. The reservation is also its upper bound; 0 stops the function.

    Errors: ResourceNotFoundException; InvalidParameterValueException (too little remains for the other functions; a
    version or an alias).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionConcurrency.html
    """
    reference = authorized_reference(tx, caller, "lambda:PutFunctionConcurrency", function_name)
    if reference.qualifier is not None:
        raise invalid_parameter(
            "This operation is permitted on Lambda functions only. Aliases and versions do not support this operation. "
            "Please specify either a function name or an unqualified function ARN."
        )
    function = get_existing(tx, reference, shown=reference.version_arn)
    others = sum(one.reserved or 0 for one in tx.resources.list(Function, caller.scope) if one.name != function.name)
    if CONCURRENCY_MAX - others - reserved_concurrent_executions < CONCURRENCY_UNRESERVED_MIN:
        raise invalid_parameter(
            "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution "
            f"below its minimum value of [{CONCURRENCY_UNRESERVED_MIN}]."
        )
    provisioned = provisioned_elsewhere(tx, caller.scope, function.name)
    if 0 < reserved_concurrent_executions < provisioned:
        # The blanks at the beginning are AWS's.
        raise invalid_parameter(
            f" ReservedConcurrentExecutions  {reserved_concurrent_executions} should not be lower than function's "
            f"total provisioned concurrency [{provisioned}]."
        )
    tx.resources.put(caller.scope, replace(function, reserved=reserved_concurrent_executions))
    # A mapping that had no free concurrency may continue.
    look_at_mappings_of(tx, caller.scope, function.name)
    return {"ReservedConcurrentExecutions": reserved_concurrent_executions}


@operation("GetFunctionConcurrency")
def get_function_concurrency(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Return a function's reserved concurrency; the answer is empty if it has none.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConcurrency.html
    """
    function = authorized_function(tx, caller, "lambda:GetFunctionConcurrency", function_name)
    return {} if function.reserved is None else {"ReservedConcurrentExecutions": function.reserved}


@operation("DeleteFunctionConcurrency")
def delete_function_concurrency(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Remove a function's reserved concurrency.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunctionConcurrency.html
    """
    function = authorized_function(tx, caller, "lambda:DeleteFunctionConcurrency", function_name)
    tx.resources.put(caller.scope, replace(function, reserved=None))
    look_at_mappings_of(tx, caller.scope, function.name)
    return {}
