"""While a world is entered, it answers every botocore client of this process, and no request reaches AWS.

botocore sends each request by one method of one class, and aiobotocore by a method of another. Both are replaced while
a world is entered, so it does not matter when or how a client was made. Other tools that answer before a request is
sent (botocore's Stubber, moto) still do so.

    a host of AWS, or of the world       the world answers; an unsupported service is an error
    an endpoint for credentials          is unreachable, as on a machine outside of AWS
    any other host                       is reached as usual: the user chose it by endpoint_url
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

import botocore.httpsession
import botocore.signers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.credentials import Credentials
from botocore.exceptions import EndpointConnectionError

from redrive.core.errors import ServiceError, UserError
from redrive.gateway.botocore_http import request_of, response_to
from redrive.gateway.chain import Gateway
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.route import Router, Unroutable
from redrive.wire.signatures.sigv4 import credential_of

ENDPOINT_URL = "http://in-process.redrive.internal"
"""A host that does not exist: a request without an answer in process fails at once and stays on the machine."""

AWS_SUFFIXES = (
    "amazonaws.com", "amazonaws.com.cn", "api.amazonwebservices.com.cn", "api.aws", "amazonaws.eu",
    "api.amazonwebservices.eu", "c2s.ic.gov", "api.aws.ic.gov", "sc2s.sgov.gov", "api.aws.scloud", "cloud.adc-e.uk",
    "api.cloud-aws.adc-e.uk",
    "csp.hci.ic.gov", "api.aws.hci.ic.gov",
)  # fmt: skip
"""The domains of all partitions. Source: botocore's partitions.json and endpoints.json."""

ACTION_BYTES_MAX = 1024
"""The place of Action in a form from botocore: at its beginning, or after the other parameters of a short form."""

_ACTION = re.compile(r"(?:^|&)Action=(\w+)")
_AWS_HOST = re.compile(rf"(?:.+\.)?(?:{'|'.join(map(re.escape, AWS_SUFFIXES))})\.?", re.IGNORECASE)
_CREDENTIAL_HOSTS = frozenset({"169.254.169.254", "fd00:ec2::254", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"})
"""Instance metadata, and the endpoints of ECS and EKS. Source: https://docs.aws.amazon.com/sdkref/latest/guide/"""

_OUTSIDE_METHODS = frozenset(
    {"assume-role-with-web-identity", "container-role", "custom-process", "iam-role", "login", "sso"}
)
"""Credential providers that get credentials by other ways than STS with a key: botocore must not call them."""


@dataclass(frozen=True, slots=True)
class Reachable:
    """A world, as the interception sees it. `own_url` is where it listens; ENDPOINT_URL if it does not listen."""

    gateway: Gateway
    account: str
    own_url: Callable[[], str]

    def takes(self, url: str) -> bool:
        """Whether the world answers a request to this URL.

        Errors: EndpointConnectionError for endpoints of credentials.
        """
        parts = urlsplit(url)
        host = parts.hostname or ""
        if host in _CREDENTIAL_HOSTS:
            raise EndpointConnectionError(endpoint_url=url)
        return f"{parts.scheme}://{parts.netloc}" in (ENDPOINT_URL, self.own_url()) or is_aws_host(host)

    def respond(self, request: AWSPreparedRequest) -> HttpResponse:
        """The world's answer. Errors: UserError for an unsupported service or operation."""
        asked = request_of(request, reached_by=self.own_url())
        try:
            _router().route(asked)
        except Unroutable as error:
            _refuse(asked, str(request.url), error)
        return self.gateway.respond(asked)


def is_aws_host(host: str) -> bool:
    """Whether a host belongs to AWS."""
    return _AWS_HOST.fullmatch(host) is not None


@contextmanager
def reached(world: Reachable) -> Iterator[None]:
    """While entered, this world answers every client of the process; of several worlds the latest entered answers."""
    _PATCHES.enter(world)
    try:
        yield
    finally:
        _PATCHES.leave(world)


class _Patches:
    """The entered worlds, and the methods that were replaced for them."""

    def __init__(self) -> None:
        self._worlds: list[Reachable] = []
        self._replaced: list[tuple[type, str, Any]] = []
        self._guard = threading.Lock()

    @property
    def world(self) -> Reachable | None:
        """The world that answers; None if no world is entered any more, and a request is late."""
        worlds = self._worlds
        return worlds[-1] if worlds else None

    def enter(self, world: Reachable) -> None:
        with self._guard:
            if not self._worlds:
                self._replace_all()
            self._worlds.append(world)

    def leave(self, world: Reachable) -> None:
        with self._guard:
            at = max(at for at, one in enumerate(self._worlds) if one is world)
            del self._worlds[at]
            if not self._worlds:
                while self._replaced:
                    setattr(*self._replaced.pop())

    def _replace_all(self) -> None:
        self._replace(botocore.httpsession.URLLib3Session, "send", _sending)
        self._replace(botocore.signers.RequestSigner, "get_auth_instance", _signing)
        for module, name, method, replacing in _ASYNCHRONOUS:
            if (found := _imported(module, name)) is not None:
                self._replace(found, method, replacing)

    def _replace(self, owner: type, name: str, replacing: Callable[[Any], Any]) -> None:
        original = vars(owner)[name]
        self._replaced.append((owner, name, original))
        setattr(owner, name, replacing(original))


def _sending(original: Callable[..., AWSResponse]) -> Callable[..., AWSResponse]:
    """Replaces URLLib3Session.send."""

    @functools.wraps(original)
    def send(session: object, request: AWSPreparedRequest) -> AWSResponse:
        world = _PATCHES.world
        if world is None or not world.takes(str(request.url)):
            return original(session, request)
        return response_to(request, world.respond(request))

    return send


def _sending_async(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for aiobotocore. A function that is invoked may run an event loop of its own, so a thread answers."""

    @functools.wraps(original)
    async def send(session: object, request: AWSPreparedRequest) -> object:
        from asyncio import to_thread  # noqa: PLC0415 - any caller of this function has it.

        from redrive.testing.aio_http import aio_response_to  # noqa: PLC0415 - it needs aiobotocore.

        world = _PATCHES.world
        if world is None or not world.takes(str(request.url)):
            return await original(session, request)
        return aio_response_to(request, await to_thread(world.respond, request))

    return send


def _signing(
    original: Callable[..., Any], credentials: Callable[[str, str], object] = Credentials
) -> Callable[..., Any]:
    """Replaces RequestSigner.get_auth_instance, async or not: a client without usable credentials is the account."""

    @functools.wraps(original)
    def get_auth_instance(signer: Any, *names: Any, **options: Any) -> Any:
        world = _PATCHES.world
        # There is no other way to a client's credentials.
        given = options.get("request_credentials") or signer._credentials  # noqa: SLF001
        if world is not None and (given is None or getattr(given, "method", None) in _OUTSIDE_METHODS):
            options["request_credentials"] = credentials(world.account, "in-process")
        return original(signer, *names, **options)

    return get_auth_instance


def _signing_async(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for aiobotocore, whose credentials are asynchronous."""
    return _signing(original, _imported("aiobotocore.credentials", "AioCredentials"))


def _refuse(request: HttpRequest, url: str, error: Unroutable) -> NoReturn:
    """Errors: UserError, which names the call."""
    raise UserError(
        f"{_called(request)} ({request.method} {url}) was not sent: {error.message}",
        next_step="While an engine of redrive.testing is reached, no botocore client of this process reaches AWS. Have "
        "the test answer this call (botocore's Stubber, moto), or give its client an endpoint_url of your own.",
    ) from error


def _called(request: HttpRequest) -> str:
    """The name of an unsupported request, as far as it shows: `s3`, `sns Publish`, `states StartExecution`."""
    operation = request.headers.get("x-amz-target", "").rpartition(".")[2]
    if not operation and (
        found := _ACTION.search(f"{request.query}&{request.body[:ACTION_BYTES_MAX].decode('latin-1')}")
    ):
        operation = found[1]
    try:
        credential = credential_of(request)
    except ServiceError:
        credential = None
    service = credential.service if credential is not None else "an unsigned request"
    return f"{service} {operation}".rstrip()


@functools.cache
def _router() -> Router:
    return Router(Models())


@functools.cache
def _imported(module: str, name: str) -> Any:
    """A name of a package; None if the package is missing, or its version does not have the name."""
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        return None
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


_ASYNCHRONOUS = (
    ("aiobotocore.httpsession", "AIOHTTPSession", "send", _sending_async),
    ("aiobotocore.httpxsession", "HttpxSession", "send", _sending_async),
    ("aiobotocore.signers", "AioRequestSigner", "get_auth_instance", _signing_async),
)
_PATCHES = _Patches()
