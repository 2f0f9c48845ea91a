"""The operation that reads a function's code signing configuration; no function here has one."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.operations.functions import authorized_function
from redrive.store.api import Transaction


@operation("GetFunctionCodeSigningConfig")
def get_function_code_signing_config(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Return an empty code signing configuration. Deployment tools call this operation first.

    Errors: ResourceNotFoundException (no such function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionCodeSigningConfig.html
    """
    function = authorized_function(tx, caller, "lambda:GetFunctionCodeSigningConfig", function_name)
    return {"CodeSigningConfigArn": "", "FunctionName": function.name}
