"""The condition keys of S3: what policies may ask of a request.

Source: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html#amazons3-policy-keys
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from redrive.core.clock import DAY_MS, Instant, format_instant
from redrive.core.documents import Document
from redrive.languages.iam import Context

_KEYS: Mapping[str, str] = {
    "acl": "x-amz-acl",
    "bucket_key_enabled": "x-amz-bucket-key-enabled",
    "copy_source": "x-amz-copy-source",
    "delimiter": "delimiter",
    "grant_full_control": "x-amz-grant-full-control",
    "grant_read": "x-amz-grant-read",
    "grant_read_acp": "x-amz-grant-read-acp",
    "grant_write": "x-amz-grant-write",
    "grant_write_acp": "x-amz-grant-write-acp",
    "if_match": "if-match",
    "if_none_match": "if-none-match",
    "max_keys": "max-keys",
    "metadata_directive": "x-amz-metadata-directive",
    "object_lock_legal_hold_status": "object-lock-legal-hold",
    "object_lock_mode": "object-lock-mode",
    "object_ownership": "x-amz-object-ownership",
    "prefix": "prefix",
    "server_side_encryption": "x-amz-server-side-encryption",
    "sse_customer_algorithm": "x-amz-server-side-encryption-customer-algorithm",
    "ssekms_key_id": "x-amz-server-side-encryption-aws-kms-key-id",
    "storage_class": "x-amz-storage-class",
    "version_id": "VersionId",
    "website_redirect_location": "x-amz-website-redirect-location",
}
"""The key, without `s3:`, of each parameter of an operation."""


def keys_of(params: Document, now: Instant) -> Context:
    """The condition keys of a request with these parameters, which have their names in Python."""
    keys: dict[str, tuple[str, ...]] = {
        f"s3:{_KEYS[name]}": (_text(value),) for name, value in params.items() if name in _KEYS
    }
    if keys.get("s3:x-amz-copy-source"):
        keys["s3:x-amz-copy-source"] = (str(params["copy_source"]).lstrip("/").partition("?")[0],)
    until = params.get("object_lock_retain_until_date")
    if until is not None:
        keys |= retention_keys(params.get("object_lock_mode"), until, now)
    tags = dict(parse_qsl(str(params.get("tagging") or ""), keep_blank_values=True)) if _is_header(params) else {}
    return {**keys, **tag_keys(tags)} if tags else keys


def retention_keys(mode: str | None, until: Instant | None, now: Instant) -> dict[str, tuple[str, ...]]:
    """The condition keys of a retention that a request asks for."""
    keys: dict[str, tuple[str, ...]] = {} if mode is None else {"s3:object-lock-mode": (mode,)}
    if until is not None:
        keys["s3:object-lock-retain-until-date"] = (format_instant(until),)
        keys["s3:object-lock-remaining-retention-days"] = (str(-((now - until) // DAY_MS)),)
    return keys


def tag_keys(tags: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The condition keys of the tags that a request gives to an object."""
    given = {f"s3:RequestObjectTag/{key}": (value,) for key, value in tags.items()}
    return {**given, "s3:RequestObjectTagKeys": tuple(tags)}


def existing_tag_keys(tags: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The condition keys of the tags that an object has."""
    return {f"s3:ExistingObjectTag/{key}": (value,) for key, value in tags.items()}


def _is_header(params: Document) -> bool:
    return isinstance(params.get("tagging"), str)


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
