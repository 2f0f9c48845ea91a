"""The payload format 2.0: a request as a function's event, and a function's answer as a response. All pure.

Source: https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.web import WebAnswer, WebCall, web_answer

_JSON = ("content-type", "application/json")
_PRELUDE_END = b"\0" * 8
INTEGRATION_TYPE = "application/vnd.awslambda.http-integration-response"
PRELUDE_BYTES_MAX = 1024 * 1024
"""Ours: how much of an answer may come before the end of its prelude."""
_TEXTS = ("text/", "application/json", "application/javascript", "application/xml")
_STATUS_MIN, _STATUS_MAX = 100, 599
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HOP_BY_HOP = frozenset({"connection", "content-length", "date", "keep-alive", "transfer-encoding", "upgrade"})
"""Headers that the server writes itself."""


def url_event(call: WebCall, *, function_account: str, region: str, now: Instant, is_iam: bool) -> Document:
    """Build the event of a request."""
    domain = f"{call.url_id}.lambda-url.{region}.on.aws"
    headers = {name: value for name, value in call.headers.items() if name != "cookie"}
    event: Document = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": call.path,
        "rawQueryString": call.query,
        "headers": headers,
    }
    cookies = [part.strip() for part in call.headers.get("cookie", "").split(";") if part.strip()]
    if cookies:
        event["cookies"] = cookies
    parameters = _parameters(call.query)
    if parameters:
        event["queryStringParameters"] = parameters
    context: Document = {
        "accountId": function_account if is_iam else "anonymous",
        "apiId": call.url_id,
        "domainName": headers.get("host", domain).rpartition(":")[0] or headers.get("host", domain),
        "domainPrefix": call.url_id,
        "http": {
            "method": call.method,
            "path": call.path,
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": call.caller.request_id,
        "routeKey": "$default",
        "stage": "$default",
        "time": _time(now),
        "timeEpoch": now,
    }
    if is_iam:
        context["authorizer"] = {"iam": _authorizer(call)}
    event["requestContext"] = context
    if call.body:
        event["body"], event["isBase64Encoded"] = _body(call)
    else:
        event["isBase64Encoded"] = False
    return event


def url_response(payload: bytes) -> Document:
    """Build the response for what a function has returned.

    An object without `statusCode` is the body, as JSON. A text is sent without quotes.
    """
    if _PRELUDE_END in payload:
        return _streamed(payload)
    try:
        value = load_json(payload)
    except ValueError:
        return web_answer(200, [_JSON], payload)
    if isinstance(value, str):
        return web_answer(200, [_JSON], value.encode("utf-8", "surrogatepass"))
    if not isinstance(value, dict) or "statusCode" not in value:
        return web_answer(200, [_JSON], payload if value is not None else b"null")
    status = _status(value["statusCode"])
    body = _answered_body(value)
    if status is None or body is None:
        return bad_gateway()
    return web_answer(status, _headers(value, default=_JSON), body)


class StreamedResponse:
    """Makes a response of an answer in pieces. Implements delivery.web.WebPieces.

    With the media type of HTTP integrations, the answer begins with a prelude: status and headers as JSON, 8 NUL bytes.
    """

    def __init__(self, shared: Callable[[Document], Document]) -> None:
        """`shared` gives a head the CORS headers of the URL."""
        self._shared = shared
        self._has_prelude = False
        self._content_type = ""
        self._unread = b""
        self.status: int | None = None

    def begin(self, content_type: str) -> None:
        """See WebPieces."""
        self._content_type = content_type
        self._has_prelude = content_type.partition(";")[0].strip().lower() == INTEGRATION_TYPE

    def feed(self, piece: bytes) -> tuple[WebAnswer | None, bytes]:
        """See WebPieces. A prelude that is too long, or malformed, is a bad gateway's response."""
        if self.status is not None:
            return None, piece
        if not self._has_prelude:
            kind = self._content_type or "application/octet-stream"
            return self._begun(web_answer(200, [("content-type", kind)], b"")), piece
        self._unread += piece
        if _PRELUDE_END in self._unread:
            answer = _streamed(self._unread, malformed=bad_gateway)
            self._unread = b""
            return self._begun(answer), answer["Body"]
        if len(self._unread) > PRELUDE_BYTES_MAX:
            return self._begun(bad_gateway()), bad_gateway()["Body"]
        return None, b""

    def end(self) -> tuple[WebAnswer | None, bytes]:
        """See WebPieces."""
        if self.status is not None:
            return None, b""
        if self._has_prelude:
            return self._begun(bad_gateway()), bad_gateway()["Body"]
        return self.feed(b"")

    def _begun(self, answer: WebAnswer) -> WebAnswer:
        self.status = answer["Status"]
        return self._shared(answer)


def bad_gateway() -> Document:
    """The response for a function that failed, or that returned what is no response."""
    return web_answer(502, [("content-type", "text/plain")], b"Internal Server Error")


def _streamed(payload: bytes, *, malformed: Callable[[], Document] | None = None) -> Document:
    """Build the response for a streamed answer: a prelude with status and headers, 8 NUL bytes, and the body."""
    prelude, _, body = payload.partition(_PRELUDE_END)
    try:
        value = load_json(prelude)
    except ValueError:
        if malformed is not None:
            return malformed()
        return web_answer(200, [("content-type", "application/octet-stream")], payload)
    if not isinstance(value, dict):
        return bad_gateway()
    status = _status(value.get("statusCode", 200))
    if status is None:
        return bad_gateway()
    return web_answer(status, _headers(value, default=("content-type", "application/octet-stream")), body)


def _status(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and _STATUS_MIN <= value <= _STATUS_MAX:
        return value
    return None


def _answered_body(value: Document) -> bytes | None:
    body = value.get("body", "")
    if body is None:
        return b""
    text = body if isinstance(body, str) else dump_json(body)
    if not value.get("isBase64Encoded"):
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _headers(value: Document, *, default: tuple[str, str]) -> list[tuple[str, str]]:
    """The headers of an answer, with its cookies. What cannot be a header is left out."""
    given = value.get("headers")
    found: list[tuple[str, str]] = []
    for name, text in given.items() if isinstance(given, dict) else ():
        shown = _header_text(text)
        if _is_token(name) and shown is not None and name.lower() not in _HOP_BY_HOP:
            found.append((name.lower(), shown))
    if all(name != default[0] for name, _ in found):
        found.append(default)
    cookies = value.get("cookies")
    for cookie in cookies if isinstance(cookies, list) else ():
        shown = _header_text(cookie)
        if shown is not None:
            found.append(("set-cookie", shown))
    return found


def _header_text(value: object) -> str | None:
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        return None
    is_line = all(" " <= letter <= "~" or letter == "\t" or "\xa0" <= letter <= "\xff" for letter in text)
    return text if is_line else None


def _is_token(name: object) -> bool:
    return (
        isinstance(name, str) and bool(name) and name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()
    )


def _parameters(query: str) -> dict[str, str]:
    """The parameters of a query; values of a repeated one are joined by commas."""
    return _joined(parse_qsl(query, keep_blank_values=True, max_num_fields=None))


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _body(call: WebCall) -> tuple[str, bool]:
    """The body as text, or in base64 if the type is none of text, or the bytes are no UTF-8."""
    kind = call.headers.get("content-type", "").lower()
    if kind.startswith(_TEXTS) or "+json" in kind or "+xml" in kind:
        try:
            return call.body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(call.body).decode(), True


def _authorizer(call: WebCall) -> Document:
    """Who signed the request, as functions see it."""
    caller = call.caller
    return {
        "accessKey": "",
        "accountId": caller.account,
        "callerId": caller.principal_arn,
        "cognitoIdentity": None,
        "principalOrgId": None,
        "userArn": caller.principal_arn,
        "userId": caller.principal_arn,
    }


def _time(at: Instant) -> str:
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%d}/{_MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000"
