"""Requests over HTTP as calls: their method is the operation, and host and path are the target."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from redrive.core.clock import HOUR_MS
from redrive.prove.calls.calls import HTTP_SERVICE, Call, Params, mapping_of
from redrive.prove.calls.tokens import KEY_OF_REQUEST, MEMORY_OF_REQUEST
from redrive.prove.process.exchange import HttpAsked

KEY_MEMORY_MS = 24 * HOUR_MS
"""How long an API knows an idempotency key again, unless it is said. Stripe keeps keys for at least so long.

Source: https://docs.stripe.com/api/idempotent_requests
"""

_KEY_HEADERS = frozenset({"paypal-request-id"})
_KEY_WORD = "idempoten"
"""In the names of headers, and of members of a body at its top, that hold an idempotency key."""


def call_of_request(asked: HttpAsked, memory_ms: int | None) -> Call:
    """The call that a request is. `memory_ms`: how long the API knows its key again."""
    body = _document(asked)
    params: dict[str, object] = {"Scheme": asked.scheme}
    if asked.query:
        params["Query"] = _pairs(asked.query)
    if body not in (None, ""):
        params["Body"] = body
    name, key = key_of_request(asked)
    if name:
        params[KEY_OF_REQUEST] = key
        params[MEMORY_OF_REQUEST] = KEY_MEMORY_MS if memory_ms is None else memory_ms
    return Call(HTTP_SERVICE, asked.method, asked.place, params)


def key_of_request(asked: HttpAsked) -> tuple[str, str]:
    """The name and the value of a request's idempotency key; empty if it has none."""
    for name, value in sorted(asked.headers.items()):
        if (_KEY_WORD in name or name in _KEY_HEADERS) and value:
            return name, value
    body = _document(asked)
    for member, held in sorted(mapping_of(body).items()):
        if _KEY_WORD in member.lower() and isinstance(held, str):
            return member, held
    return "", ""


def _document(asked: HttpAsked) -> object:
    """The body, as far as it is text: JSON and forms as documents."""
    try:
        text = asked.body.decode()
    except UnicodeDecodeError:
        return asked.body
    kind = asked.headers.get("content-type", "")
    if "urlencoded" in kind and not text.startswith(("{", "[")):
        return _pairs(text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _pairs(text: str) -> Params:
    return dict(parse_qsl(text, keep_blank_values=True))
