"""Where the commands that talk to a server find it: `--endpoint-url`, else AWS_ENDPOINT_URL, else the default port."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import click

from redrive.core.errors import UserError

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
    body = None if document is None else json.dumps(document).encode()
    url = f"{endpoint_url.rstrip('/')}/_redrive/{path}"
    try:
        request = urllib.request.Request(url, data=body, method=method)  # noqa: S310 - the user's own URL
        with urllib.request.urlopen(request) as response:  # noqa: S310
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.HTTPError as error:
        raise _refused(endpoint_url, error) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UserError(
            f"No redrive server answers at {endpoint_url} ({error}).", next_step="Start one with: redrive serve"
        ) from error


def _refused(endpoint_url: str, error: urllib.error.HTTPError) -> UserError:
    try:
        answer = json.load(error)
        return UserError(answer["error"], next_step=answer["next"], exit_code=2)
    except (ValueError, KeyError, TypeError):
        return UserError(
            f"What answers at {endpoint_url} is not a redrive server (HTTP {error.code}).",
            next_step="Start one with: redrive serve, and give its --endpoint-url",
        )
