"""The operation on a function's code signing configuration, which no function here has."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.operations.functions import authorized_function
from redrive.store.api import Transaction


@operation("GetFunctionCodeSigningConfig")
def get_function_code_signing_config(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Which code signing configuration a function has: none. Tools that manage functions ask before anything else.

    Errors: ResourceNotFoundException (no such function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionCodeSigningConfig.html
    """
    function = authorized_function(tx, caller, "lambda:GetFunctionCodeSigningConfig", function_name)
    return {"CodeSigningConfigArn": "", "FunctionName": function.name}
