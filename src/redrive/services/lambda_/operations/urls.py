"""The operations on function URLs."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.limits import PAGE_ITEMS_MAX, URL_ID_CHARS
from redrive.services.lambda_.model.event_invoke import config_name
from redrive.services.lambda_.model.function import FunctionReference, lambda_error
from redrive.services.lambda_.model.urls import FunctionUrl, url_document
from redrive.services.lambda_.operations.functions import authorized_reference
from redrive.services.lambda_.versions import find_version
from redrive.store.api import Transaction


@operation("CreateFunctionUrlConfig")
def create_function_url_config(
    tx: Transaction, caller: Caller, *,
    function_name: str, auth_type: str, qualifier: str | None = None, cors: Document | None = None,
    invoke_mode: str | None = None,
) -> Document:  # fmt: skip
    """Give a function or an alias a URL on this server. The function's policy says who may call it.

    With `InvokeMode` RESPONSE_STREAM an answer that the function writes in pieces is sent as it is written.

    Errors: ResourceNotFoundException; ResourceConflictException (it has a URL).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunctionUrlConfig.html
    """
    reference = _existing_function(tx, caller, "lambda:CreateFunctionUrlConfig", function_name, qualifier)
    name = config_name(reference.name, reference.qualifier)
    arn = reference.qualified_arn
    if tx.resources.get(FunctionUrl, caller.scope, name) is not None:
        # The two blanks are AWS's.
        raise lambda_error(
            "ResourceConflictException",
            f"Failed to create function url config for [functionArn = {arn}]. Error message:  FunctionUrlConfig exists "
            "for this Lambda function",
        )
    url = FunctionUrl(
        name, arn, tx.entropy.hex(URL_ID_CHARS), auth_type, tx.now, tx.now, invoke_mode=invoke_mode or "BUFFERED",
        cors=cors or None,
    )  # fmt: skip
    tx.resources.put(caller.scope, url)
    document = url_document(url, caller.region, caller.host)
    del document["LastModifiedTime"]
    if invoke_mode is None:
        del document["InvokeMode"]
    return document


@operation("GetFunctionUrlConfig")
def get_function_url_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document:
    """Return the URL of a function or an alias.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionUrlConfig.html
    """
    reference = authorized_reference(tx, caller, "lambda:GetFunctionUrlConfig", function_name, qualifier)
    return url_document(_existing(tx, caller, reference), caller.region, caller.host)


@operation("UpdateFunctionUrlConfig")
def update_function_url_config(
    tx: Transaction, caller: Caller, *,
    function_name: str, qualifier: str | None = None, auth_type: str | None = None, cors: Document | None = None,
    invoke_mode: str | None = None,
) -> Document:  # fmt: skip
    """Change parts of a function's URL; an empty `Cors` removes the CORS configuration.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_UpdateFunctionUrlConfig.html
    """
    reference = _existing_function(tx, caller, "lambda:UpdateFunctionUrlConfig", function_name, qualifier)
    url = _existing(tx, caller, reference)
    updated = replace(
        url,
        auth_type=auth_type or url.auth_type,
        cors=url.cors if cors is None else cors or None,
        invoke_mode=invoke_mode or url.invoke_mode,
        modified_at=tx.now,
    )
    tx.resources.put(caller.scope, updated)
    return url_document(updated, caller.region, caller.host)


@operation("ListFunctionUrlConfigs")
def list_function_url_configs(
    tx: Transaction, caller: Caller, *, function_name: str, marker: str = "", max_items: int = PAGE_ITEMS_MAX
) -> Document:
    """List the URLs of a function and of its aliases.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctionUrlConfigs.html
    """
    reference = _existing_function(tx, caller, "lambda:ListFunctionUrlConfigs", function_name, None)
    own = tx.resources.get(FunctionUrl, caller.scope, reference.name)
    aliased = tx.resources.list(FunctionUrl, caller.scope, prefix=f"{reference.name}:", after=marker)
    found = [*([] if own is None or marker else [own]), *aliased]
    limit = min(max_items, PAGE_ITEMS_MAX)
    page = found[:limit]
    answer: Document = {"FunctionUrlConfigs": [url_document(one, caller.region, caller.host) for one in page]}
    if len(found) > limit:
        answer["NextMarker"] = page[-1].name
    return answer


@operation("DeleteFunctionUrlConfig")
def delete_function_url_config(
    tx: Transaction, caller: Caller, *, function_name: str, qualifier: str | None = None
) -> Document:
    """Delete the URL of a function or an alias. The URLs of a function's aliases stay.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_DeleteFunctionUrlConfig.html
    """
    reference = authorized_reference(tx, caller, "lambda:DeleteFunctionUrlConfig", function_name, qualifier)
    tx.resources.delete(FunctionUrl, caller.scope, _existing(tx, caller, reference).name)
    return {}


def _existing_function(
    tx: Transaction, caller: Caller, action: str, function_name: str, qualifier: str | None
) -> FunctionReference:
    reference = authorized_reference(tx, caller, action, function_name, qualifier)
    if find_version(tx, reference.scope, reference.name, reference.qualifier) is None:
        raise lambda_error("ResourceNotFoundException", "Function does not exist")
    return reference


def _existing(tx: Transaction, caller: Caller, reference: FunctionReference) -> FunctionUrl:
    url = tx.resources.get(FunctionUrl, caller.scope, config_name(reference.name, reference.qualifier))
    if url is None:
        raise _missing()
    return url


def _missing() -> ServiceError:
    return lambda_error("ResourceNotFoundException", "The resource you requested does not exist.")
