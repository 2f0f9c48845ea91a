"""Answers to requests that no operation handles, in the shape that the caller's protocol reads as an error.

Our own surface has its own shape: what is wrong, and what to do next.
"""

from __future__ import annotations

import json

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.strangers import errors_for

OWN_PATH = "/_redrive/"


def refusal(
    request: HttpRequest, status: int, code: str, what: str, next_step: str, *, request_id: str
) -> HttpResponse:
    """An error with AWS's code and our sentences, in the protocol of this request."""
    if request.path.startswith(OWN_PATH):
        return own_refusal(status, what, next_step, request_id=request_id if status >= 500 else "")
    fault = "client" if status < 500 else "server"
    error = ServiceError(code, f"{what} {next_step}", http_status=status, fault=fault)
    return errors_for(request).encode_error(error, request_id)


def own_refusal(status: int, what: str, next_step: str, *, request_id: str = "") -> HttpResponse:
    """An error of our own surface. `request_id` is given if the log has details about the request."""
    document = {"error": what, "next": next_step} | ({"id": request_id} if request_id else {})
    return HttpResponse(
        status, (("content-type", "application/json"),), json.dumps(document, indent=2).encode() + b"\n"
    )
