"""Where the commands that talk to a server find it: `--endpoint-url`, else AWS_ENDPOINT_URL, else the default port."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from redrive.core.clock import SystemClock
from redrive.core.errors import UserError
from redrive.wire.message import HttpRequest
from redrive.wire.sigv4_verify import format_stamp, sign

T = TypeVar("T")

DEFAULT_ENDPOINT_URL = "http://127.0.0.1:4566"

endpoint_option = click.option(
    "--endpoint-url",
    envvar="AWS_ENDPOINT_URL",
    default=DEFAULT_ENDPOINT_URL,
    show_default=True,
    help="The server to talk to (also from AWS_ENDPOINT_URL).",
)


def ask(
    endpoint_url: str, path: str, document: Mapping[str, object] | None = None, *, method: str | None = None
) -> dict[str, Any]:
    """One call of a server's own surface: GET without a document, POST with one, unless `method` says otherwise.

    Errors: UserError if no redrive server answers there, or if it refuses.
    """
    return _asked(endpoint_url, path, document, method, _read_document)


def fetch(endpoint_url: str, path: str) -> bytes:
    """What a server's own surface answers to GET, where that is no JSON. Errors: as those of `ask`."""
    return _asked(endpoint_url, path, None, None, _read_bytes)


def ask_with_bytes(endpoint_url: str, path: str, content: bytes) -> dict[str, Any]:
    """A POST of bytes to a server's own surface. Errors: as those of `ask`."""
    return _asked(endpoint_url, path, content, "POST", _read_document)


def is_there(endpoint_url: str, path: str) -> bool:
    """Whether a server's own surface has what a path names. Errors: as those of `ask`, but for what is not there."""
    try:
        ask(endpoint_url, path)
    except UserError as error:
        if isinstance(error.__cause__, urllib.error.HTTPError) and error.__cause__.code == http.client.NOT_FOUND:
            return False
        raise
    return True


def _asked(
    endpoint_url: str, path: str, document: Mapping[str, object] | bytes | None, method: str | None,
    read: Callable[[http.client.HTTPResponse], T],
) -> T:  # fmt: skip
    body = document if document is None or isinstance(document, bytes) else json.dumps(document).encode()
    url = f"{endpoint_url.rstrip('/')}/_redrive/{path}"
    try:
        request = urllib.request.Request(url, data=body, method=method)  # noqa: S310 - the user's own URL
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
    """Sign with the credentials in the environment, if there are any: some servers require it.

    By our own signer: botocore's would be imported for a tenth of a second.
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
