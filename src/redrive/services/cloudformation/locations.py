"""Where templates and what they include lie: URLs of S3, and the text of the object at a URL.

A URL may name S3 itself or the host that the caller reaches this server by: both mean the buckets of this server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.objects import ObjectTooLarge, object_content
from redrive.services.cloudformation import limits
from redrive.store.api import Transaction

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
_S3_HOST = re.compile(
    r"(?:(?P<bucket>[a-z0-9][a-z0-9.-]*)\.)?s3(?:[.-](?:dualstack\.|fips\.|accelerate\.)*[a-z0-9-]+)?\.amazonaws\.com(\.cn)?"
)
_LOOPBACK = re.compile(r"(?:(?P<prefix>.+)\.)?localhost|127(?:\.\d{1,3}){3}|::1|host\.docker\.internal")
_S3_LABEL = re.compile(r"s3(?:[.-][a-z0-9-]+)?")


class BadLocation(Exception):
    """A URL that does not name an object, or an object that cannot be read; the message says why, as AWS does."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Location:
    """An object, perhaps in one of its versions."""

    bucket: str
    key: str
    version_id: str | None = None


def locate(url: str, own_host: str) -> Location:
    """Return the object at a URL of S3, or at one of this server, whose host the caller knows as `own_host`.

    Both styles are understood: the bucket in the host or in the path. Errors: BadLocation.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadLocation("TemplateURL must be a supported URL.")
    host = parts.hostname.lower()
    bucket, path = _bucket_of(host, urlsplit(f"//{own_host}").hostname or ""), parts.path.removeprefix("/")
    if not bucket:
        bucket, _, path = path.partition("/")
    version = parse_qs(parts.query).get("versionId", [None])[0]
    if not bucket or not path:
        raise BadLocation("TemplateURL must be a supported URL.")
    return Location(unquote(bucket), unquote(path), version)


def locate_uri(uri: str) -> Location | None:
    """Return the object that a URI such as `s3://bucket/key` names, or None."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return Location(bucket, key) if uri.startswith("s3://") and bucket and key else None


def _bucket_of(host: str, own_host: str) -> str:
    """Return the bucket in a host; empty if the bucket stands in the path. Errors: BadLocation (no host of S3)."""
    amazon = _S3_HOST.fullmatch(host)
    if amazon is not None:
        return amazon["bucket"] or ""
    local = _LOOPBACK.fullmatch(host)
    if host == own_host or (local is not None and not local["prefix"]):
        return ""
    prefix = local["prefix"] if local is not None else _before(host, own_host)
    if not prefix:
        raise BadLocation(f"S3 error: Domain name specified in {host} is not a valid S3 domain")
    # `s3.localhost` and `s3.us-east-1.localhost` are S3 itself; `bucket.s3.localhost` and `bucket.localhost` a bucket.
    bucket, dot, _ = prefix.partition(".s3") if ".s3" in prefix else (prefix, "", "")
    return "" if not dot and _S3_LABEL.fullmatch(prefix) else bucket


def _before(host: str, own_host: str) -> str:
    return host.removesuffix(f".{own_host}") if own_host and host.endswith(f".{own_host}") else ""


def read_text(tx: Transaction, caller: Caller, location: Location) -> str:
    """Return the text of an object, as the caller may read it. Errors: BadLocation; ServiceError (S3's)."""
    bytes_max = limits.UPLOADED_BYTES_MAX
    try:
        content = object_content(
            tx, caller, location.bucket, location.key, location.version_id, bytes_max=bytes_max
        )  # fmt: skip
    except ObjectTooLarge:
        raise BadLocation(f"Template may not exceed {bytes_max} bytes in size.") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadLocation("Template format error: the template is not UTF-8.") from None


def fetch_as(tx: Transaction, caller: Caller) -> Callable[[Location], str]:
    """Return the function that reads what a template includes, as `caller`."""
    return lambda location: read_text(tx, caller, location)


def template_text(tx: Transaction, caller: Caller, url: str) -> str:
    """Return the template at a URL, as the caller may read it. Errors: BadLocation."""
    try:
        return read_text(tx, caller, locate(url, caller.host))
    except ServiceError as error:
        raise BadLocation(
            f"S3 error: {error.message}\n"
            "For more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
        ) from None
