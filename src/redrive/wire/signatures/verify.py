"""Verifies Signature Version 4 as AWS documents it. Clients in this project sign with the same functions.

    canonical request ─► string to sign ─► HMAC under a key of the day, region and service ─► compare

No clock and no keys here: the caller passes both. `chunks` reads chunked bodies.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import posixpath
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NoReturn
from urllib.parse import quote, unquote_to_bytes

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.protocols.timestamps import ISO_8601, write_text
from redrive.wire.signatures.chunks import CHUNK_FORMS, ChunkSigner
from redrive.wire.signatures.sigv4 import ALGORITHM, Credential, Signature

SKEW_MS = 15 * MINUTE_MS
"""The largest difference between the time of a signature and the server's time.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
"""

EXPIRES_S_MAX = 7 * 24 * 3600
"""The longest lifetime of a presigned URL.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-authentication-methods.html
"""

UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
SIGNING_KEYS_KEPT = 1_000
"""Size of the cache of keys: one key signs all requests of a day with one access key, to one service in one region."""

_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)
_TIME = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_S3 = "s3"
_EMPTY_HASH = hashlib.sha256(b"").hexdigest()
_UNRESERVED = "-_.~"


def verify(
    request: HttpRequest, credential: Credential, signature: Signature, secret: str, *, service: str, wordy: bool,
    now: Sequence[Instant],
) -> None:  # fmt: skip
    """Refuse a request unless its signature is recent, covers all parts, and was made with this secret for the service.

    `now` are the clocks by which a caller may have signed: one of them is enough. With `wordy` the error contains what
    should have been signed, as in services of the query protocol.
    Errors: InvalidSignatureException; IncompleteSignatureException; XAmzContentSHA256Mismatch (S3).
    """
    if signature.algorithm != ALGORITHM:
        raise ServiceError("IncompleteSignatureException", f"Unsupported AWS 'algorithm': '{signature.algorithm}'.")
    signed_at = _instant(signature.signed_at)
    stamp = _stamp(signed_at)
    _check_scope(credential, service, stamp, signature.signed_at)
    _check_time(signature, signed_at, now, is_s3=service == _S3)
    _check_signed_headers(request, signature)
    body_hash = _body_hash(request, signature, credential.service)
    key = signing_key(secret, credential.date, credential.region, credential.service)
    shown, differing = "", ("", "")
    for text in _canonical_requests(request, signature, credential.service, body_hash):
        to_sign = string_to_sign(text, stamp, credential)
        expected = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        if hmac.compare_digest(expected.encode(), signature.text.encode()):
            return
        shown, differing = shown or _shown(text, to_sign), (text, to_sign)
    if service == _S3:
        raise _s3_mismatch(credential, signature, *differing)
    raise _mismatch(_MISMATCH + shown if wordy else _MISMATCH)


def instant_of_stamp(text: str) -> Instant:
    """The instant of a text in the format of X-Amz-Date. Errors: IncompleteSignatureException."""
    return _instant(text)


def chunk_signer(credential: Credential, signature: Signature, secret: str) -> ChunkSigner:
    """What the signatures of a body's chunks are made with, from the verified signature of the head."""
    key = signing_key(secret, credential.date, credential.region, credential.service)
    return ChunkSigner(key, _stamp(_instant(signature.signed_at)), _scope(credential), signature.text)


def sign(
    request: HttpRequest, *, access_key_id: str, secret: str, region: str, service: str, signed_headers: Iterable[str]
) -> str:
    """The Authorization header for a request that already has `host` and `x-amz-date`."""
    stamp = request.headers["x-amz-date"]
    credential = Credential(access_key_id, stamp[:8], region, service)
    signature = Signature(ALGORITHM, tuple(sorted(signed_headers)), "", stamp)
    text = _canonical_requests(request, signature, service, _body_hash(request, signature, service))[0]
    key = signing_key(secret, credential.date, region, service)
    made = hmac.new(key, string_to_sign(text, stamp, credential).encode(), hashlib.sha256).hexdigest()
    names = ";".join(signature.signed_headers)
    return f"{ALGORITHM} Credential={access_key_id}/{_scope(credential)}, SignedHeaders={names}, Signature={made}"


@functools.lru_cache(SIGNING_KEYS_KEPT)
def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key for all signatures of one access key on one day, in one region, for one service."""
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    return key


def string_to_sign(canonical: str, stamp: str, credential: Credential) -> str:
    """The string to sign for a canonical request."""
    hashed = hashlib.sha256(_bytes(canonical)).hexdigest()
    return f"{ALGORITHM}\n{stamp}\n{_scope(credential)}\n{hashed}"


def format_stamp(instant: Instant) -> str:
    """An instant in the format of X-Amz-Date: `20251007T153316Z`."""
    return datetime.fromtimestamp(instant // 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


_stamp = functools.lru_cache(SIGNING_KEYS_KEPT)(format_stamp)


def _scope(credential: Credential) -> str:
    return f"{credential.date}/{credential.region}/{credential.service}/aws4_request"


@functools.lru_cache(SIGNING_KEYS_KEPT)
def _instant(text: str) -> Instant:
    """The instant of a signature: `20251007T153316Z`, or the format of the Date header.

    Errors: IncompleteSignatureException.
    """
    is_basic = _TIME.fullmatch(text) is not None
    try:
        moment = datetime.strptime(text, "%Y%m%dT%H%M%SZ") if is_basic else parsedate_to_datetime(text)  # noqa: DTZ007 - next line
        return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) * SECOND_MS
    except (OverflowError, TypeError, ValueError):
        message = f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
        raise ServiceError("IncompleteSignatureException", message) from None


def _check_scope(credential: Credential, service: str, stamp: str, given: str) -> None:
    """Refuse a signature for another day, without a region, or for another service."""
    if credential.date != stamp[:8]:
        raise _mismatch(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{credential.date}' != '{stamp[:8]}', from '{given}'."
        )
    if not credential.region:
        raise _mismatch("Credential should be scoped to a valid region.")
    if credential.service != service:
        raise _mismatch(f"Credential should be scoped to correct service: '{service}'.")


def _check_time(signature: Signature, signed_at: Instant, now: Sequence[Instant], *, is_s3: bool) -> None:
    """Refuse a signature that every clock finds too old or too new; the error has the words for the first clock."""
    lasts_ms = SKEW_MS if signature.expires_s is None else _expires_s(signature.expires_s) * SECOND_MS
    if any(signed_at - SKEW_MS <= clock <= signed_at + lasts_ms for clock in now):
        return
    if is_s3:
        raise _too_skewed(signature, now[0])
    clock, stamp = now[0], _stamp(signed_at)
    skew = f"{SKEW_MS // MINUTE_MS} min."
    if clock < signed_at:
        ahead = _stamp(clock + SKEW_MS)
        raise _mismatch(f"Signature not yet current: {stamp} is still later than {ahead} ({_stamp(clock)} + {skew})")
    lasts = skew if signature.expires_s is None else f"{lasts_ms // SECOND_MS} sec."
    oldest = _stamp(clock - lasts_ms)
    raise _mismatch(f"Signature expired: {stamp} is now earlier than {oldest} ({_stamp(clock)} - {lasts})")


def _expires_s(text: str) -> int:
    """The lifetime of a presigned URL. Errors: IncompleteSignatureException."""
    if not text:
        _incomplete("AWS query-string parameters must include 'X-Amz-Expires'.")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        _incomplete("X-Amz-Expires should be a number")
    if int(text) > EXPIRES_S_MAX:
        _incomplete(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than "
            f"{EXPIRES_S_MAX} seconds"
        )
    return int(text)


def _check_signed_headers(request: HttpRequest, signature: Signature) -> None:
    """Refuse a signature that does not cover a header with which somebody on the way could change the meaning."""
    signed = signature.signed_headers
    if "host" not in signed:
        raise _mismatch("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
    for name in request.headers:
        if name.startswith("x-amz-") and name not in signed:
            raise _mismatch(f"'{name}' must be a 'SignedHeader' in the AWS Authorization.")


def _body_hash(request: HttpRequest, signature: Signature, service: str) -> str:
    """The last line of the canonical request. S3 allows callers to declare an unsigned body, or a body in chunks.

    Errors: XAmzContentSHA256Mismatch (S3). Other services hash the body themselves and ignore the caller's hash.
    """
    declared = request.headers.get("x-amz-content-sha256")
    if service == _S3:
        if declared is None and signature.is_presigned:
            return UNSIGNED_PAYLOAD
        if declared is not None and (declared == UNSIGNED_PAYLOAD or declared in CHUNK_FORMS):
            return declared
        if declared is not None and request.received is not None:
            return declared  # The codec holds the hash against the digest of the received body.
    actual = hashlib.sha256(request.body).hexdigest() if request.body else _EMPTY_HASH
    if service == _S3 and declared is not None and not hmac.compare_digest(declared.encode(), actual.encode()):
        message = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise ServiceError("XAmzContentSHA256Mismatch", message, http_status=400)
    return actual


def _canonical_requests(request: HttpRequest, signature: Signature, service: str, body_hash: str) -> tuple[str, ...]:
    """The canonical requests that the client may have signed: two if a header has, or may have had, several lines.

    The client has joined such lines with a comma; the server's parser has joined them with a comma and a space.
    """
    names = signature.signed_headers
    values = [" ".join(request.headers.get(name, "").split()) for name in names]
    before = (request.method, _canonical_path(request.path, service), _canonical_query(request.query))
    after = ("", ";".join(names), body_hash)
    lines = [f"{name}:{value}" for name, value in zip(names, values, strict=True)]
    texts = ["\n".join((*before, *lines, *after))]
    if any(", " in value for value in values):
        joined = [line.replace(", ", ",") for line in lines]
        texts.append("\n".join((*before, *joined, *after)))
    return tuple(texts)


def _canonical_path(path: str, service: str) -> str:
    """The path, normalised (no dots, no empty segments) and encoded once more. S3's: encoded once, not normalised."""
    if path == "/":
        return path
    if service == _S3:
        return "/".join(map(_encoded_anew, path.replace("+", "%2B").split("/")))
    if "//" in path or "/." in path:
        ends = path.endswith(("/", "/.", "/.."))
        path = "/" + posixpath.normpath(path).lstrip("/")
        path = path + "/" if ends and path != "/" else path
    return quote(_bytes(path), safe="/" + _UNRESERVED)


def _canonical_query(query: str) -> str:
    """The parameters, re-encoded and sorted, without the signature itself."""
    if not query:
        return ""
    pairs = []
    for part in query.split("&"):
        if not part:
            continue
        name, _, value = map(_encoded_anew, part.partition("="))
        if name != "X-Amz-Signature":
            pairs.append((name, value))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _encoded_anew(piece: str) -> str:
    """A piece of a query or a path, re-encoded. A plus sign in a query means a space, as in its decoder."""
    return quote(unquote_to_bytes(_bytes(piece.replace("+", " "))), safe=_UNRESERVED)


def _bytes(text: str) -> bytes:
    """A text of the head as its original bytes: each character was one byte."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _shown(canonical: str, to_sign: str) -> str:
    return (
        f"\n\nThe Canonical String for this request should have been\n'{canonical}'\n\n"
        f"The String-to-Sign should have been\n'{to_sign}'\n"
    )


def _s3_mismatch(credential: Credential, signature: Signature, canonical: str, to_sign: str) -> ServiceError:
    """S3's refusal of a signature, with all that should have been signed."""
    return ServiceError(
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and signing "
        "method.",
        http_status=403,
        members={
            "AWSAccessKeyId": credential.access_key_id, "StringToSign": to_sign, "SignatureProvided": signature.text,
            "StringToSignBytes": to_sign.encode().hex(" "), "CanonicalRequest": canonical,
            "CanonicalRequestBytes": _bytes(canonical).hex(" "),
        },
    )  # fmt: skip


def _too_skewed(signature: Signature, now: Instant) -> ServiceError:
    """S3's refusal of a signature that is too old, or not valid yet."""
    message = "The difference between the request time and the current time is too large."
    members = {
        "RequestTime": signature.signed_at, "ServerTime": write_text(now // SECOND_MS * SECOND_MS, ISO_8601),
        "MaxAllowedSkewMilliseconds": SKEW_MS,
    }  # fmt: skip
    return ServiceError("RequestTimeTooSkewed", message, http_status=403, members=members)


def _mismatch(message: str) -> ServiceError:
    return ServiceError("InvalidSignatureException", message)


def _incomplete(message: str) -> NoReturn:
    raise ServiceError("IncompleteSignatureException", message)
