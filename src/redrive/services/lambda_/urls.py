"""Requests to function URLs: who may call, CORS, the run, and the response.

A web page may call a URL only if the URL's own CORS configuration names the page: whoever has made no such
configuration keeps all pages out, although curl and SDKs may call.
Source: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import ANONYMOUS, Caller, Scope
from redrive.delivery.operation import Outside
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.web import StreamedWeb, WebCall, web_answer
from redrive.services.lambda_.limits import SYNC_PAYLOAD_BYTES_MAX, TRACE_HEADER_CHARACTERS_MAX
from redrive.services.lambda_.model.function import Function, function_invocation, is_recursive
from redrive.services.lambda_.model.metrics import (
    RECURSIVE_DROPPED,
    THROTTLES,
    URL_4XX,
    URL_5XX,
    URL_LATENCY,
    URL_REQUESTS,
)
from redrive.services.lambda_.model.url_payloads import StreamedResponse, bad_gateway, url_event, url_response
from redrive.services.lambda_.model.urls import FunctionUrl, allows_page, cors_headers, preflight_headers
from redrive.services.lambda_.runs import count, record_run
from redrive.services.lambda_.versions import choose_version
from redrive.store.api import Transaction

_JSON = ("content-type", "application/json")
_CLIENT_ERROR, _SERVER_ERROR = 400, 500

RESPONSE_STREAM = "RESPONSE_STREAM"


def serve_url(tx: Transaction, call: WebCall) -> Document | Outside | StreamedWeb:
    """Answer a request to a function URL."""
    found = _find(tx, call.url_id)
    if found is None:
        return _forbidden()
    scope, url = found
    if call.page and not allows_page(url.cors, call.page):
        return _page_refused(call.page)
    if call.method == "OPTIONS" and url.cors and "access-control-request-method" in call.headers:
        return web_answer(200, preflight_headers(url.cors, call.page), b"")
    answer = _run(tx, call, scope, url)
    return answer if isinstance(answer, Outside | StreamedWeb) else _counted(tx, url, _shared(answer, url, call))


def _run(tx: Transaction, call: WebCall, scope: Scope, url: FunctionUrl) -> Document | Outside | StreamedWeb:
    """Begin the run of a request, or refuse the request."""
    name = url.name.partition(":")[0]
    function = choose_version(tx, scope, name, url.qualifier)
    if function is None or not _may_call(tx, call, scope, url):
        return _forbidden()
    trace = call.headers.get("x-amzn-trace-id", "")
    trace = trace if len(trace) <= TRACE_HEADER_CHARACTERS_MAX and trace.isascii() and trace.isprintable() else ""
    if is_recursive(function, trace):
        count(tx, url.function_arn, RECURSIVE_DROPPED)
        return _refused(400, "Recursive invocation detected.")
    if function.reserved == 0:
        count(tx, url.function_arn, THROTTLES)
        return _refused(429, "Rate Exceeded.")
    event = url_event(
        call, function_account=scope.account, region=scope.region, now=tx.now, is_iam=url.auth_type == "AWS_IAM"
    )
    payload = dump_json(event).encode()
    if len(payload) > SYNC_PAYLOAD_BYTES_MAX:
        return _refused(413, "Request Too Long")
    invocation = function_invocation(
        function, call.caller.request_id, payload, function_arn=url.function_arn, trace_header=trace
    )
    begun_at = tx.now
    if url.invoke_mode == RESPONSE_STREAM:
        pieces = StreamedResponse(lambda answer: _shared(answer, url, call))
        return StreamedWeb(
            invocation,
            pieces,
            lambda later, result: _answer(
                later, invocation, result, url=url, call=call, begun_at=begun_at, status=pieces.status
            ),
        )
    return Outside(
        invocation,
        lambda later, result: _answer(later, invocation, result, url=url, call=call, begun_at=begun_at),
    )


def _answer(
    tx: Transaction, invocation: Invocation, result: InvocationResult,
    *, url: FunctionUrl, call: WebCall, begun_at: int, status: int | None = None,
) -> Document:  # fmt: skip
    """Build the response for a run that has ended; `status` is that of a response which has begun already."""
    record_run(tx, invocation, result)
    match result.status:
        case InvocationStatus.OK:
            answer = url_response(result.payload)
        case InvocationStatus.THROTTLED:
            answer = _refused(429, "Rate Exceeded.")
        case InvocationStatus.FUNCTION_ERROR | InvocationStatus.SERVICE_ERROR:
            answer = bad_gateway()
    count(tx, url.function_arn, URL_LATENCY, max(tx.now - begun_at, result.duration_ms))
    return _counted(tx, url, {**_shared(answer, url, call), "Status": status or answer["Status"]})


def _find(tx: Transaction, url_id: str) -> tuple[Scope, FunctionUrl] | None:
    for scope, url in tx.resources.everywhere(FunctionUrl):
        if url.id == url_id:
            return scope, url
    return None


def _may_call(tx: Transaction, call: WebCall, scope: Scope, url: FunctionUrl) -> bool:
    """Whether the caller may use the URL, and run the function by the URL.

    With AuthType NONE the function's policy has to allow everybody both actions.
    """
    function = tx.resources.get(Function, scope, url.name.partition(":")[0])
    if function is None or (url.auth_type == "AWS_IAM" and not call.is_signed):
        return False
    caller = call.caller
    if url.auth_type == "NONE":
        caller = Caller(Scope(ANONYMOUS, scope.region), call.caller.request_id)
    elif caller.region != scope.region:
        return False
    policy = function.policy_of(url.qualifier).text
    try:
        tx.services.authorize(
            tx, caller, "lambda:InvokeFunctionUrl", url.function_arn,
            context={"lambda:FunctionUrlAuthType": (url.auth_type,)}, policy=policy,
        )  # fmt: skip
        tx.services.authorize(
            tx, caller, "lambda:InvokeFunction", url.function_arn,
            context={"lambda:InvokedViaFunctionUrl": ("true",)}, policy=policy,
        )  # fmt: skip
    except ServiceError:
        return False
    return True


def _shared(answer: Document, url: FunctionUrl, call: WebCall) -> Document:
    """Replace the CORS headers of the function by those of the URL, if the URL has a configuration."""
    headers: list[tuple[str, str]] = answer["Headers"]
    if url.cors:
        own = cors_headers(url.cors, call.page) if call.page else []
        headers = [(name, value) for name, value in headers if not name.startswith("access-control-")] + own
    return {**answer, "Headers": headers}


def _counted(tx: Transaction, url: FunctionUrl, answer: Document) -> Document:
    """Count a request. Source: https://docs.aws.amazon.com/lambda/latest/dg/urls-monitoring.html"""
    status = int(answer["Status"])
    arn = url.function_arn
    assert Arn.parse(arn).service == "lambda", "a function has a URL"
    count(tx, arn, URL_REQUESTS)
    count(tx, arn, URL_4XX, float(_CLIENT_ERROR <= status < _SERVER_ERROR))
    count(tx, arn, URL_5XX, float(status >= _SERVER_ERROR))
    return answer


def _forbidden() -> Document:
    text = (
        "Forbidden. For troubleshooting Function URL authorization issues, see: "
        "https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html"
    )
    return web_answer(
        403, [_JSON, ("x-amzn-errortype", "AccessDeniedException")], dump_json({"Message": text}).encode()
    )


def _page_refused(page: str) -> Document:
    """Refuse a web page that the URL does not name. This is ours: AWS runs the function, and hides the answer."""
    text = (
        f"A web page ({page[:100]}) sent this request, and the function URL's Cors does not allow the page. Add the "
        "page's origin to AllowOrigins."
    )
    return web_answer(403, [_JSON], dump_json({"Message": text}).encode())


def _refused(status: int, text: str) -> Document:
    return web_answer(status, [_JSON], dump_json({"Message": text}).encode())
