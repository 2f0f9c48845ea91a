"""Requests of web pages to buckets: the bucket's CORS rules may let in a page that the guard refuses.

    the guard refuses by Origin ─► page_of ─► a step asks the bucket's rules ─► headers: the request goes on, to S3
                                                                             ─► none: refused, as the guard said

Knows how buckets are named in requests, and no rules: those are the service's (`Engine.judge_page`).
Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/cors.html
"""

from __future__ import annotations

from redrive.delivery.web import BucketPage
from redrive.gateway.refusals import OWN_PATH
from redrive.wire.message import HttpRequest
from redrive.wire.s3_route import may_be_bucket, s3_host

_ASKED_METHOD = "access-control-request-method"
_ASKED_HEADERS = "access-control-request-headers"


def page_of(request: HttpRequest) -> BucketPage | None:
    """What a page asks of a bucket; None if no page asks, or if no bucket can be meant."""
    origin = request.headers.get("origin")
    if origin is None or request.path.startswith(OWN_PATH):
        return None
    host = s3_host(request.headers.get("host", ""))
    first, _, rest = request.path[1:].partition("/")
    named = [(host.bucket, bool(request.path[1:]))] if host.bucket else []
    if not host.is_sure or not host.bucket:
        named += [(first, bool(rest))] if may_be_bucket(request.path) else []
    if not named:
        return None
    is_preflight = request.method == "OPTIONS"
    method = request.headers.get(_ASKED_METHOD, "") if is_preflight else request.method
    asked = request.headers.get(_ASKED_HEADERS, "") if is_preflight else ""
    headers = tuple(name.strip() for name in asked.split(",") if name.strip())
    return BucketPage(tuple(named), origin, method, headers, is_preflight=is_preflight)
