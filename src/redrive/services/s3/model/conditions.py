"""The conditional headers of reads and of writes.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html
"""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import formatdate

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.model.errors import no_such_key, not_implemented, precondition_failed

ANY = "*"

CONDITIONS = frozenset({"if_match", "if_none_match", "if_modified_since", "if_unmodified_since"})
"""The parameters of a read that are conditions."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The four conditions of a read. Instants count by the second."""

    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: Instant | None = None
    if_unmodified_since: Instant | None = None

    @classmethod
    def of(cls, params: Document, prefix: str = "") -> Conditions:
        """The conditions of a request; `prefix` begins the names of its parameters."""
        return cls(
            params.get(f"{prefix}if_match"),
            params.get(f"{prefix}if_none_match"),
            params.get(f"{prefix}if_modified_since"),
            params.get(f"{prefix}if_unmodified_since"),
        )


def matches(given: str, etag: str) -> bool:
    """Whether a list of ETags, quoted or not, names this one."""
    return any(one.strip().removeprefix("W/").strip('"') in {ANY, etag} for one in given.split(","))


def check_read(conditions: Conditions, etag: str, modified_at: Instant, now: Instant) -> None:
    """Check the conditions of GetObject and HeadObject. Errors: PreconditionFailed; 304 (Not Modified)."""
    if conditions.if_match is not None:
        if not matches(conditions.if_match, etag):
            raise precondition_failed("If-Match")
    elif _is_modified_since(conditions.if_unmodified_since, modified_at):
        raise precondition_failed("If-Unmodified-Since")
    if conditions.if_none_match is not None:
        if matches(conditions.if_none_match, etag):
            raise _not_modified(etag, modified_at)
    elif _is_unchanged_since(conditions.if_modified_since, modified_at, now):
        raise _not_modified(etag, modified_at)


def check_source(conditions: Conditions, etag: str, modified_at: Instant, now: Instant) -> None:
    """Check the conditions on the source of a copy. Errors: PreconditionFailed."""
    prefix = "x-amz-copy-source-"
    if conditions.if_match is not None:
        if not matches(conditions.if_match, etag):
            raise precondition_failed(f"{prefix}If-Match")
    elif _is_modified_since(conditions.if_unmodified_since, modified_at):
        raise precondition_failed(f"{prefix}If-Unmodified-Since")
    if conditions.if_none_match is not None:
        if matches(conditions.if_none_match, etag):
            raise precondition_failed(f"{prefix}If-None-Match")
    elif _is_unchanged_since(conditions.if_modified_since, modified_at, now):
        raise precondition_failed(f"{prefix}If-Modified-Since")


def check_write(params: Document, key: str, etag: str | None) -> None:
    """Check the conditions of a write; `etag` is None if the key has no object now.

    Errors: PreconditionFailed; NoSuchKey; NotImplemented.
    """
    if_match, if_none_match = params.get("if_match"), params.get("if_none_match")
    if if_match is not None and if_none_match is not None:
        message = "Multiple conditional request headers present in the request"
        raise not_implemented("If-Match,If-None-Match", message)
    if if_none_match is not None:
        if if_none_match != ANY:
            raise _not_accepted("If-None-Match")
        if etag is not None:
            raise precondition_failed("If-None-Match")
    if if_match is not None:
        if if_match == ANY:
            raise _not_accepted("If-Match")
        if etag is None:
            raise no_such_key(key)
        if if_match.strip('"') != etag:
            raise precondition_failed("If-Match")


def _not_accepted(header: str) -> ServiceError:
    return not_implemented(header, f"We don't accept the provided value of {header} header for this API")


def _is_modified_since(since: Instant | None, modified_at: Instant) -> bool:
    return since is not None and modified_at // SECOND_MS > since // SECOND_MS


def _is_unchanged_since(since: Instant | None, modified_at: Instant, now: Instant) -> bool:
    """A date in the future is ignored."""
    return since is not None and since <= now and modified_at // SECOND_MS <= since // SECOND_MS


def _not_modified(etag: str, modified_at: Instant) -> ServiceError:
    """The answer without a body: its members are headers."""
    members = {"ETag": f'"{etag}"', "Last-Modified": formatdate(modified_at // SECOND_MS, usegmt=True)}
    return ServiceError("NotModified", "Not Modified", http_status=304, members=members)
