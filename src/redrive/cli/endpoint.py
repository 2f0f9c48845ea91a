"""Calls a server: at `--endpoint-url`, else AWS_ENDPOINT_URL, else the default port.

`surface.Surface` has one method for each operation of a server's own surface; this module makes the call.
"""

from __future__ import annotations

import functools
import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import click

from redrive.core.clock import SystemClock
from redrive.core.errors import UserError
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.model.shapes import OperationModel
from redrive.wire.model.validate import Validator
from redrive.wire.services import OWN_SERVICE
from redrive.wire.signatures.verify import format_stamp, sign

T = TypeVar("T")

DEFAULT_ENDPOINT_URL = "http://127.0.0.1:4566"

endpoint_option = click.option(
    "--endpoint-url",
    envvar="AWS_ENDPOINT_URL",
    default=DEFAULT_ENDPOINT_URL,
    show_default=True,
    help="The server to talk to (also from AWS_ENDPOINT_URL).",
)


def call(endpoint_url: str, operation: str, given: Mapping[str, object]) -> Any:
    """The answer of an operation of a server's own surface. Members that are None are not sent.

    Errors: UserError if no redrive server answers, if it refuses, or if the parameters violate the model.
    """
    return _called(endpoint_url, operation, given, _read_document)


def fetch_content(endpoint_url: str, operation: str, given: Mapping[str, object]) -> bytes:
    """The answer of an operation that does not return JSON. Errors: as those of `call`."""
    return _called(endpoint_url, operation, given, _read_bytes)


@functools.cache
def _operations() -> Mapping[str, OperationModel]:
    return Models().service(OWN_SERVICE.name).operations


def _called(
    endpoint_url: str, name: str, given: Mapping[str, object], read: Callable[[http.client.HTTPResponse], T]
) -> T:  # fmt: skip
    operation = _operations()[name]
    params = {member: value for member, value in given.items() if value is not None}
    problems = Validator().validate(operation, params)
    if problems:
        from redrive.wire.protocols.own import usage

        raise UserError(f"{'; '.join(problems)}.", next_step=usage(operation), exit_code=2)
    path, document = _written(operation, params)
    return _asked(endpoint_url, path, document, operation.method, read)


def _written(
    operation: OperationModel, params: Mapping[str, object]
) -> tuple[str, Mapping[str, object] | bytes | None]:
    """The path below `/_redrive/` with its query, and the body, for these parameters."""
    payload = operation.input.payload if operation.input is not None else None
    path, query, body = operation.uri.removeprefix(OWN_SERVICE.root), {}, {}
    members = operation.input.members if operation.input is not None else {}
    for name, value in params.items():
        member = members[name]
        match member.location:
            case "uri":
                path = path.replace(f"{{{member.location_name}}}", quote(str(value), safe=""))
                path = path.replace(f"{{{member.location_name}+}}", quote(str(value)))
            case "querystring":
                query[member.location_name] = value
            case _:
                body[member.location_name] = value
    has_body = any(member.location is None for member in members.values())
    written = f"{path}?{urlencode(query)}" if query else path
    if payload is not None:
        content = params.get(payload, b"")
        assert isinstance(content, bytes), "a body that is no JSON is bytes"
        return written, content
    return written, body if has_body else None


def is_missing(error: UserError) -> bool:
    """Whether a call was refused because its resource does not exist."""
    return isinstance(error.__cause__, urllib.error.HTTPError) and error.__cause__.code == http.client.NOT_FOUND


def ask(
    endpoint_url: str, path: str, document: Mapping[str, object] | None = None, *, method: str | None = None
) -> dict[str, Any]:
    """One call of a server's own surface by path: GET without a document, POST with one, unless `method` is given.

    `surface.Surface` has the same by name and with types. Errors: UserError if no redrive server answers, or if it
    refuses.
    """
    return _asked(endpoint_url, path, document, method, _read_document)


def _asked(
    endpoint_url: str, path: str, document: Mapping[str, object] | bytes | None, method: str | None,
    read: Callable[[http.client.HTTPResponse], T],
) -> T:  # fmt: skip
    body = document if document is None or isinstance(document, bytes) else json.dumps(document).encode()
    url = f"{endpoint_url.rstrip('/')}/_redrive/{path}"
    try:
        # urllib declares every body as a form, which a PUT of ours never is.
        headers = {"content-type": "application/octet-stream"} if isinstance(document, bytes) else {}
        request = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310 - the user's own URL
        _sign(request)
        with urllib.request.urlopen(request) as response:  # noqa: S310
            return read(response)
    except urllib.error.HTTPError as error:
        raise _refused(endpoint_url, error) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UserError(
            f"No redrive server answers at {endpoint_url} ({error}).", next_step="Start one with: redrive serve"
        ) from error


def _sign(request: urllib.request.Request) -> None:
    """Sign with the credentials in the environment, if there are any: some servers require a signature.

    Uses our own signer: importing botocore's would take a tenth of a second.
    """
    access_key_id, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key_id or not secret:
        return
    headers = {"host": request.host, "x-amz-date": format_stamp(SystemClock().now())}
    token = os.environ.get("AWS_SESSION_TOKEN")
    if token:
        headers["x-amz-security-token"] = token
    url = urlsplit(request.full_url)
    body = request.data if isinstance(request.data, bytes) else b""
    message = HttpRequest(request.get_method(), url.path, url.query, headers, body)
    authorization = sign(
        message, access_key_id=access_key_id, secret=secret, region=os.environ.get("AWS_REGION") or "us-east-1",
        service="redrive", signed_headers=headers,
    )  # fmt: skip
    for name, value in (headers | {"authorization": authorization}).items():
        request.add_header(name, value)


def _read_document(response: http.client.HTTPResponse) -> dict[str, Any]:
    answer: dict[str, Any] = json.load(response)
    return answer


def _read_bytes(response: http.client.HTTPResponse) -> bytes:
    return response.read()


def _refused(endpoint_url: str, error: urllib.error.HTTPError) -> UserError:
    try:
        answer = json.load(error)
        return UserError(answer["error"], next_step=answer["next"], exit_code=2)
    except (ValueError, KeyError, TypeError):
        return UserError(
            f"What answers at {endpoint_url} is not a redrive server (HTTP {error.code}).",
            next_step="Start one with: redrive serve, and give its --endpoint-url",
        )
