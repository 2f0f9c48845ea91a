"""The operations on code signing configurations, and on the one that a function has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.code_signing import existing_code_signing, find_code_signing
from redrive.services.lambda_.limits import PAGE_ITEMS_MAX, SIGNING_ID_CHARS
from redrive.services.lambda_.model.code_signing import (
    CodeSigningConfig,
    code_signing_document,
    code_signing_missing,
)
from redrive.services.lambda_.model.function import Function, lambda_error
from redrive.services.lambda_.operations.functions import authorized_function
from redrive.store.api import Transaction


@operation("CreateCodeSigningConfig")
def create_code_signing_config(
    tx: Transaction, caller: Caller, *,
    allowed_publishers: Document, description: str = "", code_signing_policies: Document | None = None,
    tags: Mapping[str, str] | None = None,
) -> Document:  # fmt: skip
    """Create a code signing configuration. By default it warns of unsigned code, and accepts the code.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateCodeSigningConfig.html
    """
    tx.services.authorize(tx, caller, "lambda:CreateCodeSigningConfig", "*")
    name = f"csc-{tx.entropy.hex(SIGNING_ID_CHARS)}"
    config = CodeSigningConfig(
        name, f"arn:aws:lambda:{caller.region}:{caller.account}:code-signing-config:{name}",
        tuple(allowed_publishers["SigningProfileVersionArns"]), tx.now, description=description, tags=dict(tags or {}),
    )  # fmt: skip
    config = _with_policy(config, code_signing_policies)
    tx.resources.put(caller.scope, config)
    return {"CodeSigningConfig": code_signing_document(config)}


@operation("GetCodeSigningConfig")
def get_code_signing_config(tx: Transaction, caller: Caller, *, code_signing_config_arn: str) -> Document:
    """Return a code signing configuration.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetCodeSigningConfig.html
    """
    config = _authorized(tx, caller, "lambda:GetCodeSigningConfig", code_signing_config_arn)
    return {"CodeSigningConfig": code_signing_document(config)}


@operation("ListCodeSigningConfigs")
def list_code_signing_configs(
    tx: Transaction, caller: Caller, *, marker: str = "", max_items: int = PAGE_ITEMS_MAX
) -> Document:
    """List code signing configurations, sorted by id.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListCodeSigningConfigs.html
    """
    tx.services.authorize(tx, caller, "lambda:ListCodeSigningConfigs", "*")
    limit = min(max_items, PAGE_ITEMS_MAX)
    found = tx.resources.list(CodeSigningConfig, caller.scope, after=marker, limit=limit + 1)
    answer: Document = {"CodeSigningConfigs": [code_signing_document(one) for one in found[:limit]]}
    if len(found) > limit:
        answer["NextMarker"] = found[limit - 1].name
    return answer


@operation("UpdateCodeSigningConfig")
def update_code_signing_config(
    tx: Transaction, caller: Caller, *,
    code_signing_config_arn: str, description: str | None = None, allowed_publishers: Document | None = None,
    code_signing_policies: Document | None = None,
) -> Document:  # fmt: skip
    """Change parts of a code signing configuration; it holds for code that is deployed from now on.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateCodeSigningConfig.html
    """
    config = _authorized(tx, caller, "lambda:UpdateCodeSigningConfig", code_signing_config_arn)
    publishers = config.publishers
    if allowed_publishers is not None:
        publishers = tuple(allowed_publishers["SigningProfileVersionArns"])
    text = config.description if description is None else description
    updated = replace(config, publishers=publishers, description=text, modified_at=tx.now)
    updated = _with_policy(updated, code_signing_policies)
    tx.resources.put(caller.scope, updated)
    return {"CodeSigningConfig": code_signing_document(updated)}


@operation("DeleteCodeSigningConfig")
def delete_code_signing_config(tx: Transaction, caller: Caller, *, code_signing_config_arn: str) -> Document:
    """Delete a code signing configuration that no function has.

    Errors: ResourceNotFoundException; ResourceConflictException (functions have it).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteCodeSigningConfig.html
    """
    config = _authorized(tx, caller, "lambda:DeleteCodeSigningConfig", code_signing_config_arn)
    if any(one.code_signing_arn == config.arn for one in tx.resources.list(Function, caller.scope)):
        raise lambda_error(
            "ResourceConflictException", f"The code signing configuration {config.arn} is in use by functions."
        )
    tx.resources.delete(CodeSigningConfig, caller.scope, config.name)
    return {}


@operation("ListFunctionsByCodeSigningConfig")
def list_functions_by_code_signing_config(
    tx: Transaction, caller: Caller, *,
    code_signing_config_arn: str, marker: str = "", max_items: int = PAGE_ITEMS_MAX,
) -> Document:  # fmt: skip
    """List the ARNs of the functions that have a code signing configuration, sorted by name.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctionsByCodeSigningConfig.html
    """
    config = _authorized(tx, caller, "lambda:ListFunctionsByCodeSigningConfig", code_signing_config_arn)
    functions = tx.resources.list(Function, caller.scope, after=marker)
    found = [one for one in functions if one.code_signing_arn == config.arn]
    limit = min(max_items, PAGE_ITEMS_MAX)
    answer: Document = {"FunctionArns": [one.arn for one in found[:limit]]}
    if len(found) > limit:
        answer["NextMarker"] = found[limit - 1].name
    return answer


@operation("PutFunctionCodeSigningConfig")
def put_function_code_signing_config(
    tx: Transaction, caller: Caller, *, code_signing_config_arn: str, function_name: str
) -> Document:
    """Give a function a code signing configuration; it holds for code that is deployed from now on.

    Errors: CodeSigningConfigNotFoundException, looked for before the function; ResourceNotFoundException (function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionCodeSigningConfig.html
    """
    config = existing_code_signing(tx, code_signing_config_arn)
    function = authorized_function(tx, caller, "lambda:PutFunctionCodeSigningConfig", function_name)
    tx.resources.put(caller.scope, replace(function, code_signing_arn=config.arn))
    return {"CodeSigningConfigArn": config.arn, "FunctionName": function.name}


@operation("GetFunctionCodeSigningConfig")
def get_function_code_signing_config(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Return a function's code signing configuration; its ARN is empty for a function without one.

    Errors: ResourceNotFoundException (no such function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionCodeSigningConfig.html
    """
    function = authorized_function(tx, caller, "lambda:GetFunctionCodeSigningConfig", function_name)
    return {"CodeSigningConfigArn": function.code_signing_arn, "FunctionName": function.name}


@operation("DeleteFunctionCodeSigningConfig")
def delete_function_code_signing_config(tx: Transaction, caller: Caller, *, function_name: str) -> Document:
    """Remove the code signing configuration from a function.

    Errors: ResourceNotFoundException (no such function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunctionCodeSigningConfig.html
    """
    function = authorized_function(tx, caller, "lambda:DeleteFunctionCodeSigningConfig", function_name)
    tx.resources.put(caller.scope, replace(function, code_signing_arn=""))
    return {}


def _authorized(tx: Transaction, caller: Caller, action: str, arn: str) -> CodeSigningConfig:
    tx.services.authorize(tx, caller, action, arn)
    config = find_code_signing(tx, arn)
    if config is None:
        raise code_signing_missing(arn)
    return config


def _with_policy(config: CodeSigningConfig, policies: Document | None) -> CodeSigningConfig:
    given = (policies or {}).get("UntrustedArtifactOnDeployment")
    return config if given is None else replace(config, policy=str(given))
