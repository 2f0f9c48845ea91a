"""The operations that read parameters."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.ssm import limits
from redrive.services.ssm.finding import authorize, existing, parameters_from, version_of
from redrive.services.ssm.model.filters import (
    OF_DESCRIPTIONS,
    OF_PATHS,
    Filter,
    is_below,
    of_old_form,
    read_filters,
)
from redrive.services.ssm.model.names import AWS_PATH, SECRETS_PATH, Asked, asked, check_path
from redrive.services.ssm.model.parameter import SECURE_STRING, STRING, Parameter, Version
from redrive.services.ssm.model.public import PUBLIC_PATH, public_value
from redrive.services.ssm.model.requests import invalid, not_found, page_token, read_page_token
from redrive.services.ssm.secure import value_of
from redrive.store.api import Transaction


@operation("GetParameter")
def get_parameter(tx: Transaction, caller: Caller, *, name: str, with_decryption: bool | None = None) -> Document:
    """Return a parameter: its newest version, or one with a number or a label behind a colon.

    Errors: ParameterNotFound; ParameterVersionNotFound; InvalidKeyId; ValidationException.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html
    """
    wanted = asked(caller.scope, name)
    authorize(tx, caller, "GetParameter", wanted.key)
    return {"Parameter": _read(tx, caller, wanted, decrypt=bool(with_decryption))}


@operation("GetParameters")
def get_parameters(
    tx: Transaction, caller: Caller, *, names: Sequence[str], with_decryption: bool | None = None
) -> Document:
    """Return up to 10 parameters; those that are not there are named in the answer.

    Errors: ValidationException (a name twice); InvalidKeyId.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
    """
    if len(set(names)) != len(names):
        raise invalid("Duplicate names are not allowed.")
    found: list[Document] = []
    unknown: list[str] = []
    for name in names:
        wanted = asked(caller.scope, name)
        authorize(tx, caller, "GetParameters", wanted.key)
        try:
            found.append(_read(tx, caller, wanted, decrypt=bool(with_decryption)))
        except ServiceError as error:
            if error.code not in ("ParameterNotFound", "ParameterVersionNotFound"):
                raise
            unknown.append(name)
    return {"Parameters": found, "InvalidParameters": unknown}


@operation("GetParametersByPath")
def get_parameters_by_path(
    tx: Transaction, caller: Caller, *, path: str, recursive: bool | None = None,
    parameter_filters: Sequence[Document] | None = None, with_decryption: bool | None = None,
    max_results: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """Return the parameters directly below a path, or all below it, in pages of up to 10.

    Errors: ValidationException (the path); InvalidFilterKey; InvalidFilterOption; InvalidNextToken; InvalidKeyId.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParametersByPath.html
    """
    prefix = check_path(path)
    authorize(tx, caller, "GetParametersByPath", prefix.rstrip("/") or "/")
    filters = read_filters(parameter_filters, OF_PATHS)
    after = read_page_token(next_token)
    page, token = _page(tx, caller, prefix, after, filters, max_results or limits.PATH_PAGE, recursive=bool(recursive))
    labels = [value for one in filters if one.key == "Label" for value in one.values]
    shown = []
    for parameter in page:
        selector = next((label for label in labels if label in parameter.labels), "")
        version = version_of(tx, caller, parameter, selector)
        shown.append(_shown(tx, caller, parameter, version, parameter.shown_name, decrypt=bool(with_decryption)))
    return {"Parameters": shown, "NextToken": token}


@operation("GetParameterHistory")
def get_parameter_history(
    tx: Transaction, caller: Caller, *, name: str, with_decryption: bool | None = None,
    max_results: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """Return the versions of a parameter, the oldest first.

    Errors: ParameterNotFound; InvalidNextToken; InvalidKeyId.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameterHistory.html
    """
    wanted = asked(caller.scope, name)
    authorize(tx, caller, "GetParameterHistory", wanted.key)
    parameter = existing(tx, caller, wanted)
    count = max_results or limits.HISTORY_PAGE
    versions = tx.resources.list(
        Version, caller.scope, prefix=f"{parameter.name}:", after=read_page_token(next_token), limit=count + 1
    )
    page = versions[:count]
    shown = [
        version.described(
            value_of(tx, caller, version, decrypt=bool(with_decryption)), parameter.labels_of(version.number),
            parameter.shown_name,
        )
        for version in page
    ]  # fmt: skip
    return {"Parameters": shown, "NextToken": page_token(page[-1].name) if len(versions) > count else None}


@operation("DescribeParameters")
def describe_parameters(
    tx: Transaction, caller: Caller, *, filters: Sequence[Document] | None = None,
    parameter_filters: Sequence[Document] | None = None, max_results: int | None = None,
    next_token: str | None = None, shared: bool | None = None,
) -> Document:  # fmt: skip
    """List parameters without their values. Nobody shares parameters here.

    Errors: InvalidFilterKey; InvalidFilterOption; InvalidFilterValue; InvalidNextToken; ValidationException.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DescribeParameters.html
    """
    arn = f"arn:aws:ssm:{caller.region}:{caller.account}:*"
    tx.services.authorize(tx, caller, "ssm:DescribeParameters", arn)
    if filters and parameter_filters:
        raise invalid("You can use either Filters or ParameterFilters in a single request.")
    if shared:
        return {"Parameters": []}
    chosen = of_old_form(filters) + read_filters(parameter_filters, OF_DESCRIPTIONS)
    after = read_page_token(next_token)
    page, token = _page(tx, caller, "/", after, chosen, max_results or limits.DESCRIBED_PAGE, recursive=True)
    shown = [{**version_of(tx, caller, one).metadata(one.shown_name), "ARN": one.arn(caller.scope)} for one in page]
    return {"Parameters": shown, "NextToken": token}


def _page(
    tx: Transaction, caller: Caller, prefix: str, after: str, filters: Sequence[Filter], count: int, *, recursive: bool
) -> tuple[list[Parameter], str | None]:
    """Return one page of the parameters below a path that pass all filters, and the token of the next page."""
    page: list[Parameter] = []
    for parameter in parameters_from(tx, caller, prefix, after):
        is_wanted = recursive or is_below(parameter.name, prefix, recursive=False)
        if is_wanted and all(one.passes(parameter) for one in filters):
            if len(page) == count:
                return page, page_token(page[-1].name)
            page.append(parameter)
    return page, None


def _read(tx: Transaction, caller: Caller, wanted: Asked, *, decrypt: bool) -> Document:
    """Return a parameter as answers show it. Errors: as of GetParameter."""
    if wanted.key.startswith(SECRETS_PATH):
        return _secret(tx, caller, wanted, decrypt=decrypt)
    if wanted.key.startswith(AWS_PATH):
        return _public(wanted)
    parameter = existing(tx, caller, wanted)
    version = version_of(tx, caller, parameter, wanted.selector)
    name = parameter.shown_name if wanted.by_arn else wanted.text.partition(":")[0]
    shown = _shown(tx, caller, parameter, version, name, decrypt=decrypt)
    return shown | ({"Selector": f":{wanted.selector}"} if wanted.selector else {})


def _shown(
    tx: Transaction, caller: Caller, parameter: Parameter, version: Version, name: str, *, decrypt: bool
) -> Document:
    return {
        "Name": name,
        "Type": version.type,
        "Value": value_of(tx, caller, version, decrypt=decrypt),
        "Version": version.number,
        "LastModifiedDate": version.changed_at,
        "ARN": parameter.arn(caller.scope),
        "DataType": version.data_type,
    }


def _public(wanted: Asked) -> Document:
    """Return a public parameter: the made-up id of a machine image. Errors: ParameterNotFound."""
    value = public_value(wanted.key) if wanted.key.startswith(PUBLIC_PATH) else None
    if value is None:
        raise not_found()
    return {
        "Name": wanted.key, "Type": STRING, "Value": value, "Version": 1, "LastModifiedDate": 0,
        "ARN": f"arn:aws:ssm:::parameter{wanted.key}", "DataType": "aws:ec2:image",
    }  # fmt: skip


def _secret(tx: Transaction, caller: Caller, wanted: Asked, *, decrypt: bool) -> Document:
    """Return a secret of Secrets Manager as a parameter. Errors: ParameterNotFound; ValidationException.

    Source: https://docs.aws.amazon.com/systems-manager/latest/userguide/integration-ps-secretsmanager.html
    """
    if not decrypt:
        raise invalid("WithDecryption flag must be True for retrieving a Secret Manager secret.")
    name = wanted.key.removeprefix(SECRETS_PATH)
    params: Document = {"SecretId": name}
    if wanted.selector:
        member = "VersionId" if len(wanted.selector) >= _VERSION_ID_LENGTH else "VersionStage"
        params[member] = wanted.selector
    try:
        secret = tx.services.call(tx, caller, "secretsmanager", "GetSecretValue", params)
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        raise not_found(
            f"An error occurred (ParameterNotFound) when referencing Secrets Manager: Secret {wanted.key} not found."
        ) from None
    shown = {name: value for name, value in secret.items() if name != "SecretBinary"}
    return {
        "Name": wanted.text, "Type": SECURE_STRING, "Value": secret.get("SecretString", ""), "Version": 0,
        "SourceResult": dump_json(shown), "LastModifiedDate": secret["CreatedDate"],
        "ARN": f"arn:aws:ssm:{caller.region}:{caller.account}:parameter{wanted.key}", "DataType": "text",
    }  # fmt: skip


_VERSION_ID_LENGTH = 32
