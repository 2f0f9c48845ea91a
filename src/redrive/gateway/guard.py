"""Refuses requests that a web page may have made a browser send. Pure; runs before routing.

A browser sends some requests for any page, without asking the server first: forms, images, navigations, `no-cors`
fetches, WebSockets. A page cannot remove the headers by which the browser marks them: `Origin` on every POST,
`Sec-Fetch-*` on every request to a loopback address, `Host` with the name in the URL. SDKs, the CLI and curl send
none of these but Host.

    Host             must be a name of this server: an attacker may bind a foreign name to this address (DNS rebinding)
    preflight        is answered for the origins that are allowed
    Origin           must be allowed, if present; if absent, Sec-Fetch-* and Referer must not indicate a page
    Action in a URL  must be signed: an image can ask for any URL. The links in messages carry a secret instead
    text/plain, multipart/form-data
                     must come with a header that requires a preflight; but a form may bring an object to a bucket

Knows headers, not the meaning of operations. Source: https://fetch.spec.whatwg.org/ and
https://www.w3.org/TR/fetch-metadata/
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from redrive.core.errors import UserError
from redrive.gateway.cors import VARY, answer_headers, preflight_headers
from redrive.gateway.function_urls import AWS_DOMAIN
from redrive.gateway.refusals import OWN_PATH
from redrive.wire.message import HttpRequest
from redrive.wire.s3_route import is_marked, is_s3_of_aws, is_signed_v2, may_be_bucket, s3_host
from redrive.wire.signatures.s3_urls import is_presigned

HEALTH_PATH = "/_redrive/health"
HOSTS_REMEMBERED_MAX = 64
"""Size of the cache of allowed Host headers: names with ports, as clients write them."""

_LOOPBACK = ("localhost", "*.localhost")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::\d{1,5})?")
_NAME = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_NEUTRAL = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
"""The User-Agent of fetch in Node.js, which sends no Sec-Fetch-Site."""
_TELLING = frozenset({"sec-fetch-site", "referer", *_NEUTRAL})
_ASKED_FIRST = ("authorization", "x-amz-target", "smithy-protocol", "x-amz-date")
"""Headers that a page cannot send without a preflight."""
_FORM_DATA = "multipart/form-data"
_PLAIN_TYPES = ("text/plain", _FORM_DATA)
_FORM = "application/x-www-form-urlencoded"
_READS = ("GET", "HEAD")
_SECRETS = {
    "ConfirmSubscription": ("Token", re.compile(r"[0-9a-f]{64}")),
    "Unsubscribe": ("SubscriptionArn", re.compile(r"arn:aws:sns(:[^:]+){3}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
}
"""The links that messages bring to whoever gets them, by Action: the parameter that is the permission, and its form."""

_ALLOW_ORIGIN = "If the page is yours, start the server with --allow-origin and its origin."


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is not executed: the header that decided, and what to do. `code` is AWS's where AWS has one."""

    what: str
    next_step: str
    code: str = "AccessDeniedException"
    headers: tuple[tuple[str, str], ...] = ()
    is_by_origin: bool = False
    """A bucket's own rules may let this page in."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """A preflight: answered with these headers and nothing else."""

    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """The request of an allowed page: the request goes on, and its answer gets these headers."""

    headers: tuple[tuple[str, str], ...]


Admission = Refused | Preflight | Shared | None
"""None lets the request go on, as for nearly all requests."""


class Guard:
    """Judges requests by their headers."""

    def __init__(self, *, address: str, host: str = "", hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        """`address` is what the server is bound to, `host` is how the user wrote it; the user allowed the rest.

        Errors: UserError for a name or an origin that can never match.
        """
        given = [_bracketed(name.lower()) for name in (address, host) if name]
        self._names = frozenset([*_LOOPBACK, *given, *map(allowed_host, hosts)])
        self._is_open = address in _WILDCARDS
        self._origins = frozenset(map(allowed_origin, origins))
        self.known_hosts: set[str] = set()

    def judge_url(self, host: str) -> Refused | None:
        """Judge a request to a function URL by the server's part of its Host.

        Pages are the URL's own matter: its CORS configuration says which pages may call. Names below AWS's domain are
        nobody else's to bind to this address.
        """
        if host_name(host) == AWS_DOMAIN or host in self.known_hosts or self._learn(host):
            return None
        return _foreign_host(host)

    def judge(self, request: HttpRequest) -> Admission:
        """Whether a request may go on."""
        headers = request.headers
        host = headers.get("host")
        # The connection refuses HTTP/1.1 without a Host; browsers do not send HTTP/1.0 without one.
        if host is not None and host not in self.known_hosts and not self._learn(host):
            return _foreign_host(host)
        if "origin" in headers:
            return self._of_origin(request, headers["origin"])
        if not headers.keys().isdisjoint(_TELLING):
            refused = self._of_page(request)
            if refused is not None:
                return refused
        if request.method != "POST":
            return _of_url(request)
        if "authorization" not in headers and "content-type" in headers:
            return _of_type(request, headers["content-type"])
        return None

    def _learn(self, host: str) -> bool:
        """Whether a Host is allowed; if so, cache its text."""
        name = host_name(host)
        if name is None or not self._is_allowed_name(name):
            return False
        if len(self.known_hosts) < HOSTS_REMEMBERED_MAX:
            self.known_hosts.add(host)
        return True

    def _is_allowed_name(self, name: str) -> bool:
        # Names of S3 below AWS's domain are nobody else's to bind to this address.
        if name in self._names or is_s3_of_aws(name):
            return True
        address = _address(name)
        if address is not None:
            # An IP address needs no DNS, so DNS rebinding cannot occur: an open server answers on all its own
            # addresses.
            return self._is_open or address.is_loopback
        labels = name.split(".")
        return any("*." + ".".join(labels[at:]) in self._names for at in range(1, len(labels)))

    def _is_allowed_origin(self, origin: str) -> bool:
        return origin in self._origins or ("*" in self._origins and origin != "null")

    def _of_origin(self, request: HttpRequest, origin: str) -> Admission:
        headers = request.headers
        if self._is_allowed_origin(origin):
            shown = "*" if "*" in self._origins else origin
            if request.method == "OPTIONS" and "access-control-request-method" in headers:
                return Preflight(preflight_headers(shown, headers))
            shared = answer_headers(shown)
            refused = _unsigned_url(request)
            return Shared(shared) if refused is None else replace(refused, headers=shared)
        if _is_health(request) and _is_own(origin, headers.get("host", "")):
            return None
        what = f"The header Origin says that the page {_shown(origin)} sent this request."
        return Refused(what, _ALLOW_ORIGIN, headers=(VARY,), is_by_origin=True)

    def _of_page(self, request: HttpRequest) -> Refused | None:
        """Judge by the other headers of browsers. A URL that a person typed may read our own surface, and no more."""
        headers = request.headers
        site = headers.get("sec-fetch-site")
        if site is not None:
            is_read = request.path.startswith(OWN_PATH) or _is_object_url(request)
            is_typed = site == "none" and request.method in _READS and is_read
            if is_typed or (site == "same-origin" and _is_health(request)):
                return None
            return Refused(f"The header Sec-Fetch-Site ({_shown(site)}) says that a browser sent this.", _ALLOW_ORIGIN)
        for name, neutral in _NEUTRAL.items():
            if headers.get(name, neutral) != neutral:
                spelled = name.title()
                what = f"The header {spelled} ({_shown(headers[name])}) says that a browser sent this request."
                return Refused(what, _ALLOW_ORIGIN)
        referer = headers.get("referer")
        if referer is not None and not self._is_allowed_origin(_origin_of(referer)):
            what = f"The header Referer says that the page {_shown(_origin_of(referer))} sent this request."
            return Refused(what, _ALLOW_ORIGIN)
        return None


def host_name(host: str) -> str | None:
    """The name in a Host header, in lower case, without port and trailing dot; None if there is no valid name.

    LocalHost:4566 → localhost, [::1]:4566 → [::1]
    """
    match = _HOST.fullmatch(host.lower())
    return None if match is None else match[1]


def allowed_host(text: str) -> str:
    """Validate a name for --allow-host: `redrive`, `aws.test`, `*.aws.test`. Errors: UserError."""
    name = _bracketed(text.lower().removesuffix("."))
    if _NAME.fullmatch(name) is None:
        raise UserError(
            f"--allow-host {text!r} is not a host.",
            next_step="Write a name without scheme and port, such as redrive, or *.aws.test for all names below one.",
            exit_code=2,
        )
    return name


def allowed_origin(text: str) -> str:
    """Validate an origin for --allow-origin, as browsers spell it; `*` is every page. Errors: UserError."""
    if text in ("*", "null"):
        return text
    origin = _origin_of(text)
    if origin == "null" or text.lower().rstrip("/") not in (origin, f"{origin}:80", f"{origin}:443"):
        raise UserError(
            f"--allow-origin {text!r} is not an origin.",
            next_step="Write scheme, host and port, such as http://localhost:3000, or * for every page.",
            exit_code=2,
        )
    return origin


def _origin_of(url: str) -> str:
    """The origin of a URL, as browsers write it: no default port, no path. `null` if the URL has none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "null"
    if not parts.scheme or not parts.hostname:
        return "null"
    shown = "" if port is None or (parts.scheme, port) in {("http", 80), ("https", 443)} else f":{port}"
    return f"{parts.scheme}://{_bracketed(parts.hostname)}{shown}"


def _is_own(origin: str, host: str) -> bool:
    return origin in (f"http://{host}", f"https://{host}")


def _is_health(request: HttpRequest) -> bool:
    return request.path == HEALTH_PATH and request.method in _READS


def _of_url(request: HttpRequest) -> Refused | None:
    """Refuse an operation's URL, which an image can request, unless it is signed and no header indicates a browser.

    In browsers from before 2023, only User-Agent shows that a request comes from a browser's image.
    """
    if request.path == "/" and _carries_a_secret(request.query):
        return None
    is_typed = request.headers.get("sec-fetch-site") == "none" and _is_object_url(request)
    if not is_typed and _is_operation_url(request) and _is_of_browser(request):
        return Refused("The header User-Agent says that a browser asks for an operation by its URL.", _ALLOW_ORIGIN)
    return _unsigned_url(request)


def _carries_a_secret(query: str) -> bool:
    """Whether a query is that of a link in a message, and nothing else: each parameter stands there once."""
    if not any(action in query for action in _SECRETS):
        return False
    given = parse_qsl(query, keep_blank_values=True)
    params = dict(given)
    name, form = _SECRETS.get(params.get("Action", ""), ("", None))
    return len(params) == len(given) and form is not None and form.fullmatch(params.get(name, "")) is not None


def _unsigned_url(request: HttpRequest) -> Refused | None:
    # Our own surface reads no Action. A provider's answer to a stack may come as what urllib calls every body: a form.
    if request.method == "POST" or request.path.startswith(OWN_PATH) or not _is_operation_url(request):
        return None
    query = request.query
    is_signed = ("X-Amz-Credential=" in query and "X-Amz-Signature=" in query) or is_signed_v2(query)
    if "authorization" in request.headers or is_signed:
        return None
    what = f"Request is missing Authentication Token: an operation in the URL of a {request.method} must be signed."
    return Refused(what, "Send it by POST, or sign it.", "MissingAuthenticationToken")


def _is_operation_url(request: HttpRequest) -> bool:
    """Whether the router could read an Action in the URL of a request without a body."""
    is_form = request.headers.get("content-type", "").lower().startswith(_FORM)
    return is_form or "Action=" in request.query or "X-Amz-Credential" in request.query


def _of_type(request: HttpRequest, content_type: str) -> Refused | None:
    """Refuse bodies of the types that a form can send, unless the request has a header that a form cannot send."""
    plain = content_type.lower().startswith(_PLAIN_TYPES)
    if plain and content_type.lower().startswith(_FORM_DATA) and _is_to_bucket(request):
        return None
    if not plain or any(name in request.headers for name in _ASKED_FIRST):
        return None
    what = f"The header Content-Type ({_shown(content_type)}) is what a form on any web page can send."
    return Refused(what, "Send Content-Type: application/json, or sign the request.")


def _is_object_url(request: HttpRequest) -> bool:
    """Whether a URL is presigned for S3, and no operation of another service: people open such links."""
    query = request.query
    return "Action=" not in query and (is_presigned(query) or is_signed_v2(query)) and is_marked(request)


def _is_to_bucket(request: HttpRequest) -> bool:
    """Whether a POST is that of a form to a bucket, and not from a browser, which would send Origin."""
    is_bucket = bool(s3_host(request.headers.get("host", "")).bucket) or may_be_bucket(request.path)
    return is_bucket and not request.query and not _is_of_browser(request)


def _is_of_browser(request: HttpRequest) -> bool:
    return request.headers.get("user-agent", "").startswith("Mozilla/")


def _foreign_host(host: str) -> Refused:
    name = host_name(host)
    if name is None:
        return Refused(f"The header Host ({_shown(host)}) is not the name of a host.", "Send the name of this server.")
    return Refused(
        f"The header Host names {_shown(name)}, which is not known as a name of this server.",
        f"If it is one, start the server with --allow-host {_shown(name)}.",
    )


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _shown(text: str) -> str:
    """Text that a client sent, shortened for an error message."""
    return text if len(text) <= 100 else f"{text[:100]}…"
