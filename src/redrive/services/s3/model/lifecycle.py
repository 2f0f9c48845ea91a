"""Lifecycle rules: which objects a rule is about, and when it does what.

    written ──► + days ──► rounded up to the next midnight (UTC) ──► due

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/intro-lifecycle-rules.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import quote

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.services.s3.model.bucket import Bucket

LIFECYCLE = "LifecycleConfiguration"
TIMER = "s3.lifecycle"
SMALLEST_MOVED = 128 * 1024
"""Smaller objects stay in their storage class, unless a rule's own filter is about sizes."""

ALL_128K = "all_storage_classes_128K"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule may be about: a version of an object, or an upload that was begun."""

    key: str
    size: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)


def rules_of(bucket: Bucket) -> Sequence[Document]:
    """The rules of a bucket that are enabled."""
    rules: Sequence[Document] = bucket.settings.get(LIFECYCLE, {}).get("Rules", ())
    return [rule for rule in rules if rule["Status"] == "Enabled"]


def midnight_after(at: Instant) -> Instant:
    """The next midnight: an instant that is a midnight stays. 10:30 → 24:00."""
    return -(-at // DAY_MS) * DAY_MS


def next_midnight(now: Instant) -> Instant:
    """The midnight that comes after now."""
    return (now // DAY_MS + 1) * DAY_MS


def expiry_of(rules: Iterable[Document], subject: Subject, written_at: Instant) -> tuple[Instant, str] | None:
    """When the current version of an object expires, and by which rule; the earliest rule decides."""
    found = [
        (due, str(rule["ID"]))
        for rule in rules
        if covers(rule, subject) and (due := _due(rule.get("Expiration"), written_at)) is not None
    ]
    return min(found, default=None)


def expiration_header(bucket: Bucket, subject: Subject, written_at: Instant) -> str | None:
    """The header `x-amz-expiration` of the current version of an object."""
    if LIFECYCLE not in bucket.settings:
        return None
    found = expiry_of(rules_of(bucket), subject, written_at)
    return None if found is None else f'expiry-date="{http_date(found[0])}", rule-id="{quote(found[1])}"'


def transition_of(rules: Iterable[Document], subject: Subject, written_at: Instant, now: Instant) -> str | None:
    """The storage class into which rules have moved the current version of an object; the latest rule decides."""
    moved = list(_transitions(rules, "Transitions", subject, written_at, now))
    return max(moved)[1] if moved else None


def noncurrent_transition_of(
    rules: Iterable[Document], subject: Subject, since: Instant, newer: int, now: Instant
) -> str | None:
    """The same for a noncurrent version with this many newer noncurrent ones."""
    moved = list(_transitions(rules, "NoncurrentVersionTransitions", subject, since, now, newer=newer))
    return max(moved)[1] if moved else None


def noncurrent_expiry_of(rules: Iterable[Document], subject: Subject, since: Instant, newer: int) -> Instant | None:
    """When a noncurrent version goes, which has been noncurrent `since` an instant and has `newer` newer ones."""
    found = []
    for rule in rules:
        action = rule.get("NoncurrentVersionExpiration")
        if action and newer >= (action.get("NewerNoncurrentVersions") or 0) and covers(rule, subject):
            found.append(midnight_after(since + action["NoncurrentDays"] * DAY_MS))
    return min(found, default=None)


def marker_expiry_of(rules: Iterable[Document], subject: Subject, alone_since: Instant) -> Instant | None:
    """When a delete marker goes that is the only version of its key since an instant."""
    found = []
    for rule in rules:
        action = rule.get("Expiration") or {}
        if not covers(rule, subject):
            continue
        if action.get("ExpiredObjectDeleteMarker"):
            found.append(midnight_after(alone_since))
        elif (due := _due(action, alone_since)) is not None:
            found.append(due)
    return min(found, default=None)


def abort_of(rules: Iterable[Document], subject: Subject, begun_at: Instant) -> tuple[Instant, str] | None:
    """When an upload that is not completed is aborted, and by which rule."""
    found = []
    for rule in rules:
        days = (rule.get("AbortIncompleteMultipartUpload") or {}).get("DaysAfterInitiation")
        if days is not None and subject.key.startswith(prefix_of(rule)):
            found.append((midnight_after(begun_at + days * DAY_MS), str(rule["ID"])))
    return min(found, default=None)


def covers(rule: Document, subject: Subject) -> bool:
    """Whether a rule is about an object."""
    wanted = predicates(rule)
    larger, smaller = wanted.get("ObjectSizeGreaterThan"), wanted.get("ObjectSizeLessThan")
    return (
        subject.key.startswith(wanted.get("Prefix") or "")
        and all(subject.tags.get(tag["Key"]) == tag["Value"] for tag in wanted.get("Tags") or ())
        and (larger is None or subject.size > larger)
        and (smaller is None or subject.size < smaller)
    )


def prefix_of(rule: Document) -> str:
    """The prefix of the keys that a rule is about."""
    return str(predicates(rule).get("Prefix") or "")


def predicates(rule: Document) -> Document:
    """What a rule's filter asks for, in the form of `And`."""
    filter_: Document = rule.get("Filter") or {}
    if "And" in filter_:
        both: Document = filter_["And"]
        return both
    if "Tag" in filter_:
        return {"Tags": [filter_["Tag"]]}
    return filter_ or ({"Prefix": rule["Prefix"]} if rule.get("Prefix") else {})


def rest_days(rules: Iterable[Document]) -> int:
    """For how many days nothing that is written now can fall due. 1 where other changes than time count."""
    days = [1_000]
    for rule in rules:
        wanted, expiration = predicates(rule), rule.get("Expiration") or {}
        noncurrent = [rule.get("NoncurrentVersionExpiration") or {}, *(rule.get("NoncurrentVersionTransitions") or ())]
        changes = wanted.get("Tags") or any(one.get("NewerNoncurrentVersions") for one in noncurrent)
        if changes or expiration.get("ExpiredObjectDeleteMarker") or expiration.get("Date"):
            return 1
        moves = [*(rule.get("Transitions") or ()), expiration]
        days += [one["Days"] for one in moves if one.get("Days")]
        days += [one["NoncurrentDays"] for one in noncurrent if one.get("NoncurrentDays")]
        days += [1 for one in moves if one.get("Date") or one.get("Days") == 0]
        abort = rule.get("AbortIncompleteMultipartUpload") or {}
        days += [abort["DaysAfterInitiation"]] if abort else []
    return max(1, min(days))


def http_date(at: Instant) -> str:
    """An instant as headers write it: `Fri, 23 Dec 2012 00:00:00 GMT`."""
    return format_datetime(datetime.fromtimestamp(at / 1000, UTC), usegmt=True)


def _transitions(
    rules: Iterable[Document], name: str, subject: Subject, since: Instant, now: Instant, *, newer: int = 0
) -> Iterator[tuple[Instant, str]]:
    for rule in rules:
        wanted = predicates(rule)
        has_sizes = "ObjectSizeGreaterThan" in wanted or "ObjectSizeLessThan" in wanted
        if not covers(rule, subject) or (subject.size < SMALLEST_MOVED and not has_sizes):
            continue
        for action in rule.get(name) or ():
            due = _due({"Days": action.get("NoncurrentDays"), **action}, since)
            if due is not None and due <= now and newer >= (action.get("NewerNoncurrentVersions") or 0):
                yield due, str(action["StorageClass"])


def _due(action: Document | None, since: Instant) -> Instant | None:
    """When an action falls due for what exists since an instant; None if it is no action for it."""
    if not action:
        return None
    if action.get("Date") is not None:
        return max(int(action["Date"]), midnight_after(since))
    return None if action.get("Days") is None else midnight_after(since + action["Days"] * DAY_MS)
