"""Signature Version 2 of S3: HMAC-SHA1 over method, dates and resource. SDKs presign with this version by default.

    Authorization: AWS AKID:signature         ?AWSAccessKeyId=AKID&Expires=1700000000&Signature=signature

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAuthentication.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import parse_qsl

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.s3_route import s3_host

_SCHEME = "AWS "
_SUB_RESOURCES = frozenset(
    """
    accelerate acl cors delete encryption inventory lifecycle location logging metrics notification object-lock
    partNumber policy publicAccessBlock replication requestPayment response-cache-control
    response-content-disposition response-content-encoding response-content-language response-content-type
    response-expires restore select select-type tagging torrent uploadId uploads versionId versioning versions website
    x-amz-request-payer
    """.split()
)


@dataclass(frozen=True, slots=True)
class SignatureV2:
    """A signature as received. `given` are the parameters of the URL; `expires` is empty for a signed header."""

    access_key_id: str
    text: str
    given: dict[str, str]
    expires: str = ""


def signature_v2(request: HttpRequest) -> SignatureV2 | None:
    """The signature of version 2 that a request has; None if it has none. Parts of one in a URL are empty texts."""
    header = request.headers.get("authorization", "")
    is_in_header = header.startswith(_SCHEME)
    if not is_in_header and (header or not request.query):
        return None
    given = dict(reversed(parse_qsl(request.query, keep_blank_values=True)))
    if is_in_header:
        key_id, _, text = header.removeprefix(_SCHEME).strip().partition(":")
        return SignatureV2(key_id, text, given)
    if "AWSAccessKeyId" not in given:
        return None
    return SignatureV2(given["AWSAccessKeyId"], given.get("Signature", ""), given, given.get("Expires", ""))


def verify_v2(request: HttpRequest, signature: SignatureV2, secret: str) -> None:
    """Refuse a request unless its signature was made with this secret. Errors: SignatureDoesNotMatch."""
    to_sign = string_to_sign_v2(request, signature)
    made = base64.b64encode(hmac.digest(secret.encode(), to_sign.encode("utf-8", "replace"), hashlib.sha1)).decode()
    if not hmac.compare_digest(made.encode(), signature.text.encode("utf-8", "replace")):
        raise ServiceError(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your key and "
            "signing method.",
            http_status=403,
            members={
                "AWSAccessKeyId": signature.access_key_id, "StringToSign": to_sign,
                "SignatureProvided": signature.text, "StringToSignBytes": to_sign.encode().hex(" "),
            },
        )  # fmt: skip


def string_to_sign_v2(request: HttpRequest, signature: SignatureV2) -> str:
    """What the signature covers. A URL has as parameters what otherwise are headers."""
    in_url = {name.lower(): value for name, value in signature.given.items()} if signature.expires else {}
    headers = in_url | dict(request.headers)
    date = signature.expires or ("" if "x-amz-date" in headers else headers.get("date", ""))
    lines = [request.method, headers.get("content-md5", ""), headers.get("content-type", ""), date]
    amz = [f"{name}:{' '.join(headers[name].split())}" for name in sorted(headers) if name.startswith("x-amz-")]
    return "\n".join([*lines, *amz, _resource(request, signature)])


def _resource(request: HttpRequest, signature: SignatureV2) -> str:
    bucket = s3_host(request.headers.get("host", "")).bucket
    names = [name for name in sorted(signature.given) if name in _SUB_RESOURCES]
    parts = [f"{name}={signature.given[name]}" if signature.given[name] else name for name in names]
    path = f"/{bucket}{request.path}" if bucket else request.path
    return path + ("?" + "&".join(parts) if parts else "")
