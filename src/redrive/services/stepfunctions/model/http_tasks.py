"""HTTP tasks: the request that the parameters of a task and its connection make, and what an answer means.

What the connection adds wins over the task's own parameters.
Source: https://docs.aws.amazon.com/step-functions/latest/dg/call-https-apis.html
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlsplit

from redrive.core.clock import SECOND_MS
from redrive.core.connected_calls import ConnectedCall
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult
from redrive.delivery.outside.http_request import Headers, is_writable, with_query
from redrive.languages.states.errors import StatesError, runtime_error
from redrive.languages.states.payloads import PAYLOAD_BYTES_MAX

TIMEOUT_MS = 60 * SECOND_MS
SOCKET = "States.Http.Socket"
STATUS_CODE = "States.Http.StatusCode."
CONNECTION = "Events.ConnectionResource."
"""The prefix of errors that come from the connection and not from the endpoint."""

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")
_FIELDS = frozenset(
    {
        "ApiEndpoint", "Method", "Authentication", "InvocationConfig", "Headers", "QueryParameters", "RequestBody",
        "Transform",
    }
)  # fmt: skip
_ARRAY_FORMATS = ("INDICES", "REPEAT", "COMMAS", "BRACKETS")
_FORM = "application/x-www-form-urlencoded"
_FORBIDDEN = frozenset(
    {
        "a-im", "accept-charset", "accept-datetime", "accept-encoding", "authorization", "cache-control", "connection",
        "content-encoding", "content-md5", "date", "expect", "forwarded", "from", "host", "http2-settings", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "max-forwards", "origin", "pragma",
        "proxy-authorization", "referer", "server", "te", "trailer", "transfer-encoding", "upgrade", "via", "warning",
    }
)  # fmt: skip
_FORBIDDEN_PREFIXES = ("x-forwarded-", "x-amz-", "x-amzn-")
_UNREADABLE = re.compile(r"application/octet-stream|image/|video/|audio/")
_JSON_TYPE = re.compile(r"application/([a-z0-9.-]+\+)?json\b")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The request that a task asks for, before its connection adds to it. A query parameter may have several values.

    `body` is None if the task has none. `array_format` is empty unless the body is to be a form.
    """

    endpoint: str
    method: str
    connection: str
    headers: tuple[tuple[str, str], ...]
    query: Mapping[str, str | list[str]]
    body: object
    array_format: str


def read_request(parameters: object) -> HttpRequest:
    """The request that a task's parameters ask for. Errors: StatesError States.Runtime."""
    given = parameters if isinstance(parameters, dict) else {}
    unknown = sorted(set(given) - _FIELDS)
    if unknown:
        raise runtime_error(f"The field '{unknown[0]}' is not supported by Step Functions.")
    method = given.get("Method")
    if method not in METHODS:
        raise runtime_error(f"The value of Method must be one of the following: {', '.join(METHODS)}.")
    transform = _object(given, "Transform")
    return HttpRequest(
        _endpoint(given.get("ApiEndpoint")), method, _connection(given), _headers(given.get("Headers")),
        _query(given.get("QueryParameters")), given.get("RequestBody"), _array_format(transform),
    )  # fmt: skip


def call_of(request: HttpRequest, added: ConnectedCall, region: str) -> HttpCall:
    """The request with what the connection adds. Errors: StatesError States.Runtime."""
    headers = Headers(
        {
            "User-Agent": f"Amazon|StepFunctions|HttpInvoke|{region}",
            "Range": f"bytes=0-{PAYLOAD_BYTES_MAX}",
        }
    )
    body = _merged(request.body, added.body)
    content = b""
    if body is not None:
        headers.add_all([("Content-Type", _FORM if request.array_format else "application/json; charset=UTF-8")])
        content = _written(body, request.array_format).encode()
    headers.add_all(request.headers)
    headers.add_all(added.headers)
    pairs = headers.as_pairs()
    unwritable = [name for name, value in pairs if not is_writable(name) or not is_writable(value)]
    if unwritable:
        raise runtime_error(f"The value of the header '{unwritable[0]}' cannot be sent.")
    url = with_query(request.endpoint, {**request.query, **added.query})
    return HttpCall(
        url, request.method, pairs, content, timeout_ms=TIMEOUT_MS, answer_bytes_max=PAYLOAD_BYTES_MAX
    )  # fmt: skip


def answer_of(result: HttpResult) -> Document:
    """The result of a task whose endpoint has answered with success.

    Errors: StatesError: the endpoint refused (its status names the error), did not answer, or with what is no text.
    """
    match result.ending:
        case HttpEnding.TIMED_OUT | HttpEnding.FAILED | HttpEnding.REFUSED:
            raise StatesError(SOCKET, result.error, is_bare=True)
        case HttpEnding.ANSWERED:
            pass
    body = _body(result)
    if not 200 <= result.status < 300:
        cause = body if isinstance(body, str) else dump_json(body)
        raise StatesError(f"{STATUS_CODE}{result.status}", cause, is_bare=True)
    headers: dict[str, list[str]] = {}
    for name, value in result.headers:
        headers.setdefault(name, []).append(value)
    return {"Headers": headers, "ResponseBody": body, "StatusCode": result.status, "StatusText": _phrase(result.status)}


def form_of(body: Document, array_format: str) -> str:
    """A body as a form: nested members as `a[b]`, arrays in their format, all of it encoded."""
    return "&".join(f"{_encoded(name)}={_encoded(value)}" for name, value in _pairs(body, array_format, ""))


def _endpoint(text: object) -> str:
    """Errors: StatesError (no URL, or one that is not secure)."""
    if not isinstance(text, str):
        raise runtime_error("The field ApiEndpoint is required, and must be a string.")
    try:
        url = urlsplit(text)
        port_is_read = url.port is None or url.port >= 0
    except ValueError as error:
        raise runtime_error(f"The ApiEndpoint '{text}' is not a valid URL.") from error
    is_secure = url.scheme == "https" or (url.scheme == "http" and _is_of_this_machine(url.hostname or ""))
    if not is_secure or not url.hostname or not port_is_read:
        raise runtime_error(f"The ApiEndpoint '{text}' is not a valid URL that begins with https://.")
    return text


def _is_of_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _connection(given: Document) -> str:
    """The ARN of the connection. Errors: StatesError (there is none, or it stands in both fields)."""
    places = [name for name in ("InvocationConfig", "Authentication") if name in given]
    arn = _object(given, places[0]).get("ConnectionArn") if len(places) == 1 else None
    if not isinstance(arn, str):
        raise runtime_error("The field ConnectionArn is required, in either InvocationConfig or Authentication.")
    return arn


def _object(given: Document, name: str) -> Document:
    value = given.get(name) or {}
    if not isinstance(value, dict):
        raise runtime_error(f"The field {name} must be an object.")
    return value


def _array_format(transform: Document) -> str:
    """How arrays of a form are written; empty for a body of JSON. Errors: StatesError."""
    encoding = transform.get("RequestBodyEncoding", "NONE")
    if encoding not in ("NONE", "URL_ENCODED"):
        raise runtime_error("The value of RequestBodyEncoding must be one of the following: NONE, URL_ENCODED.")
    array_format = _object(transform, "RequestEncodingOptions").get("ArrayFormat", _ARRAY_FORMATS[0])
    if array_format not in _ARRAY_FORMATS:
        raise runtime_error(f"The value of ArrayFormat must be one of the following: {', '.join(_ARRAY_FORMATS)}.")
    return str(array_format) if encoding == "URL_ENCODED" else ""


def _headers(given: object) -> tuple[tuple[str, str], ...]:
    """The task's own headers; an array is one header with several values. Errors: StatesError (a forbidden one)."""
    if given is None:
        return ()
    if not isinstance(given, dict):
        raise runtime_error("The field Headers must be an object.")
    for name in given:
        if name.lower() in _FORBIDDEN or name.lower().startswith(_FORBIDDEN_PREFIXES):
            raise runtime_error(f"The header '{name}' is not allowed in an HTTP Task.")
    return tuple((name, ", ".join(_texts(value))) for name, value in given.items())


def _query(given: object) -> Mapping[str, str | list[str]]:
    if given is None:
        return {}
    if isinstance(given, str):
        pairs = parse_qsl(given, keep_blank_values=True)
        return {name: [value for other, value in pairs if other == name] for name, _ in pairs}
    if not isinstance(given, dict):
        raise runtime_error("The field QueryParameters must be an object or a string.")
    return {name: _texts(value) for name, value in given.items()}


def _texts(value: object) -> list[str]:
    return [_text(one) for one in value] if isinstance(value, list) else [_text(value)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _merged(body: object, added: Mapping[str, str]) -> object:
    """The body with the connection's parameters. Errors: StatesError (they cannot be added to a text)."""
    if not added:
        return body
    if body is not None and not isinstance(body, dict):
        raise runtime_error("The RequestBody is no object, and cannot be merged with the connection's body parameters.")
    return {**(body or {}), **added}


def _written(body: object, array_format: str) -> str:
    """Errors: StatesError (what is no object cannot be a form)."""
    if not array_format:
        return body if isinstance(body, str) else dump_json(body)
    if not isinstance(body, dict):
        raise runtime_error("The RequestBody must be an object to be encoded as a form.")
    return form_of(body, array_format)


def _pairs(value: object, array_format: str, name: str) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        inner = [(f"{name}[{key}]" if name else key, one) for key, one in value.items()]
        return [pair for key, one in inner for pair in _pairs(one, array_format, key)]
    if not isinstance(value, list):
        return [(name, _text(value))]
    match array_format:
        case "COMMAS":
            return [(name, ",".join(map(_text, value)))]
        case "REPEAT":
            names = [name] * len(value)
        case "BRACKETS":
            names = [f"{name}[]"] * len(value)
        case _:
            names = [f"{name}[{place}]" for place in range(len(value))]
    return [pair for key, one in zip(names, value, strict=True) for pair in _pairs(one, array_format, key)]


def _encoded(text: str) -> str:
    return quote(text, safe="")


def _body(result: HttpResult) -> object:
    """The body of an answer: JSON as its value, other text as it is.

    Errors: StatesError States.Runtime (it is no text), States.DataLimitExceeded.
    """
    kind = next((value.lower() for name, value in result.headers if name == "content-type"), "")
    if _UNREADABLE.match(kind):
        raise runtime_error(f"The response has the content type '{kind}', which an HTTP Task cannot read.")
    if result.is_cut:
        message = f"The response has more than {PAYLOAD_BYTES_MAX} bytes."
        raise StatesError("States.DataLimitExceeded", message)
    try:
        text = result.body.decode()
    except UnicodeDecodeError as error:
        raise runtime_error("The response cannot be read as a string.") from error
    if _JSON_TYPE.match(kind):
        try:
            return load_json(text)
        except ValueError:
            return text
    return text


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
