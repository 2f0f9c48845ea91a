"""boto3 clients whose requests never leave the process.

botocore asks its `before-send` handlers before it opens a connection; ours answers from the gateway of the world that
the client belongs to. Handlers' own clients (created anywhere in user code while `AWS_ENDPOINT_URL` points here) are
answered the same way: the world that is running a function is the one they reach.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import botocore.handlers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from redrive.gateway.botocore_http import request_of, response_to
from redrive.gateway.chain import Gateway

ENDPOINT_URL = "http://in-process.redrive.internal"
"""A host that does not exist: a request that is not answered in process fails at once instead of leaving it."""


def client_of(gateway: Gateway, service: str, *, region: str, account: str, **options: Any) -> Any:
    """A boto3 client that talks to this gateway, as the account itself unless `options` bring other credentials."""
    settings: dict[str, Any] = {
        "region_name": region, "endpoint_url": ENDPOINT_URL, "aws_access_key_id": account,
        "aws_secret_access_key": "in-process", "config": Config(retries={"total_max_attempts": 1}),
    }  # fmt: skip
    client = _session().client(service, **(settings | options))
    client.meta.events.unregister("before-send", _REACHED)  # Its own gateway answers, and no other beside it.
    client.meta.events.register_first("before-send", _Responder(gateway))
    return client


@functools.cache
def _session() -> Any:
    """One session for all clients: making one costs 50 ms, a client of it 1.5 ms."""
    return boto3.session.Session()


class _Responder:
    """Answers a prepared request from a gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def __call__(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        return response_to(request, self._gateway.respond(request_of(request)))


class _Reached:
    """Which gateway requests to ENDPOINT_URL reach that come from clients we did not make."""

    def __init__(self) -> None:
        self.gateways: list[Gateway] = []

    def __call__(self, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        if not self.gateways or not str(request.url).startswith(ENDPOINT_URL):
            return None
        return response_to(request, self.gateways[-1].respond(request_of(request)))


# botocore reads this list when it makes a session: the one way to reach clients that user code makes for itself.
_REACHED = _Reached()
botocore.handlers.BUILTIN_HANDLERS.append(("before-send", _REACHED))


@contextmanager
def reached_by_user_code(gateway: Gateway) -> Iterator[None]:
    """While inside, any boto3 client whose endpoint is ENDPOINT_URL talks to this gateway."""
    _REACHED.gateways.append(gateway)
    try:
        yield
    finally:
        _REACHED.gateways.pop()
