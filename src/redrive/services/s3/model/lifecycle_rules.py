"""Lifecycle configurations: which are valid.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html
"""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.clock import DAY_MS
from redrive.core.documents import Document
from redrive.core.entropy import Entropy
from redrive.core.errors import ServiceError
from redrive.services.s3.limits import LIFECYCLE_RULES_MAX
from redrive.services.s3.model.errors import invalid_request, malformed_xml
from redrive.services.s3.model.lifecycle import ALL_128K, predicates

_STATUSES = ("Enabled", "Disabled")
_ID_LENGTH_MAX = 255
_KINDS = ("Prefix", "Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan", "And")
_ACTIONS = (
    "Expiration", "Transitions", "NoncurrentVersionTransitions", "NoncurrentVersionExpiration",
    "AbortIncompleteMultipartUpload",
)  # fmt: skip
_CLASSES = frozenset("GLACIER STANDARD_IA ONEZONE_IA INTELLIGENT_TIERING DEEP_ARCHIVE GLACIER_IR".split())
_INFREQUENT = {"STANDARD_IA": 30, "ONEZONE_IA": 30}
"""Storage classes into which objects move only after these days."""

_MINIMUMS = (ALL_128K, "varies_by_storage_class")
_ID_DIGITS = 48


def read_rules(configuration: Document | None, entropy: Entropy) -> list[Document]:
    """The rules of a configuration, each with an ID. Errors: MalformedXML; InvalidRequest; InvalidArgument."""
    rules: list[Document] = (configuration or {}).get("Rules") or []
    if not 1 <= len(rules) <= LIFECYCLE_RULES_MAX:
        raise malformed_xml()
    for rule in rules:
        _check_filter(rule)
        _check_actions(rule)
    ids = [rule["ID"] for rule in rules if rule.get("ID")]
    if len(ids) != len(set(ids)):
        raise _invalid("Rule ID must be unique. Found same ID for more than one rule")
    if any(len(one) > _ID_LENGTH_MAX for one in ids):
        raise _invalid(f"ID length should not exceed allowed limit of {_ID_LENGTH_MAX}")
    return [rule if rule.get("ID") else {**rule, "ID": entropy.hex(_ID_DIGITS)} for rule in rules]


def check_minimum(text: str | None) -> str:
    """The smallest size of objects that move, by default. Errors: InvalidRequest."""
    if text not in (None, *_MINIMUMS):
        raise invalid_request(f"Invalid value for x-amz-transition-default-minimum-object-size: {text}")
    return text or ALL_128K


def _check_filter(rule: Document) -> None:
    filter_ = rule.get("Filter")
    if rule.get("Status") not in _STATUSES or (filter_ is None) == (rule.get("Prefix") is None):
        raise malformed_xml()
    if filter_ is not None and sum(filter_.get(kind) is not None for kind in _KINDS) > 1:
        raise malformed_xml()
    wanted = predicates(rule)
    if filter_ and "And" in filter_ and len(wanted) - ("Tags" in wanted) + len(wanted.get("Tags") or ()) <= 1:
        raise malformed_xml()
    keys = [tag["Key"] for tag in wanted.get("Tags") or ()]
    if len(keys) != len(set(keys)):
        raise invalid_request("Duplicate Tag Keys are not allowed.")


def _check_actions(rule: Document) -> None:
    if not any(rule.get(action) for action in _ACTIONS):
        raise invalid_request("At least one action needs to be specified in a rule")
    has_tags = bool(predicates(rule).get("Tags"))
    expiration, abort = rule.get("Expiration"), rule.get("AbortIncompleteMultipartUpload")
    if expiration is not None:
        _check_expiration(expiration, has_tags=has_tags)
    if abort is not None:
        if has_tags:
            raise invalid_request("AbortIncompleteMultipartUpload cannot be specified with Tags.")
        _check_positive(abort.get("DaysAfterInitiation"), "DaysAfterInitiation", "AbortIncompleteMultipartUpload")
    noncurrent = rule.get("NoncurrentVersionExpiration")
    if noncurrent is not None:
        _check_positive(noncurrent.get("NoncurrentDays"), "NoncurrentDays", "NoncurrentVersionExpiration")
    for days, storage_class in _moves(rule):
        _check_move(days, storage_class)
    _check_order(rule)


def _check_expiration(expiration: Document, *, has_tags: bool) -> None:
    given = [name for name in ("Days", "Date", "ExpiredObjectDeleteMarker") if expiration.get(name) is not None]
    if len(given) != 1:
        raise malformed_xml()
    if given == ["Days"]:
        _check_positive(expiration["Days"], "Days", "Expiration")
    if given == ["Date"]:
        _check_midnight(expiration["Date"])
    if given == ["ExpiredObjectDeleteMarker"] and has_tags:
        raise invalid_request("ExpiredObjectDeleteMarker cannot be specified with Tags.")


def _moves(rule: Document) -> Iterator[tuple[int | None, str]]:
    for move in rule.get("Transitions") or ():
        if (move.get("Days") is None) == (move.get("Date") is None):
            raise malformed_xml()
        if move.get("Date") is not None:
            _check_midnight(move["Date"])
        yield move.get("Days"), str(move.get("StorageClass"))
    for move in rule.get("NoncurrentVersionTransitions") or ():
        if move.get("NoncurrentDays") is None:
            raise malformed_xml()
        yield move["NoncurrentDays"], str(move.get("StorageClass"))


def _check_move(days: int | None, storage_class: str) -> None:
    if storage_class not in _CLASSES:
        raise malformed_xml()
    if days is None:
        return
    if days < 0:
        raise _invalid("'Days' in Transition action must be nonnegative")
    least = _INFREQUENT.get(storage_class, 0)
    if days < least:
        message = (
            f"'Days' in Transition action must be greater than or equal to {least} for storageClass '{storage_class}'"
        )
        raise _invalid(message)


def _check_order(rule: Document) -> None:
    """An object has to expire after it has moved. Errors: InvalidArgument."""
    expires = (rule.get("Expiration") or {}).get("Days")
    moves = [move["Days"] for move in rule.get("Transitions") or () if move.get("Days") is not None]
    if expires is not None and moves and expires <= max(moves):
        prefix = predicates(rule).get("Prefix") or ""
        message = (
            f"'Days' in the Expiration action for filter '(prefix={prefix})' must be greater than 'Days' in the "
            "Transition action"
        )
        raise _invalid(message)


def _check_positive(days: int | None, name: str, action: str) -> None:
    if days is None:
        raise malformed_xml()
    if days <= 0:
        raise _invalid(f"'{name}' for {action} action must be a positive integer")


def _check_midnight(at: int) -> None:
    if at % DAY_MS:
        raise _invalid("'Date' must be at midnight GMT")


def _invalid(message: str) -> ServiceError:
    return ServiceError("InvalidArgument", message, http_status=400)
