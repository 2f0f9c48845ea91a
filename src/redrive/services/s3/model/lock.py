"""Object lock: retention and legal hold, which keep versions of objects from being deleted.

    GOVERNANCE    shortened and deleted by who bypasses it, with the permission to do so
    COMPLIANCE    by nobody before its time
    legal hold    by nobody until it is lifted, whatever the retention says

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.errors import invalid_argument, invalid_request, malformed_xml

LOCK = "ObjectLockConfiguration"
MODE, UNTIL, HOLD = "ObjectLockMode", "ObjectLockRetainUntilDate", "ObjectLockLegalHoldStatus"
"""The members of a stored object."""

GOVERNANCE, COMPLIANCE = "GOVERNANCE", "COMPLIANCE"
MODES = (GOVERNANCE, COMPLIANCE)
HOLDS = ("ON", "OFF")
_DAYS_MAX, _YEARS_MAX = 36_500, 100
_UNTIL_HEADER = "x-amz-object-lock-retain-until-date"


@dataclass(frozen=True, slots=True)
class Retention:
    """A version stays until an instant."""

    mode: str
    until: Instant


def has_lock(bucket: Bucket) -> bool:
    """Whether a bucket has object lock; it can never be taken away."""
    return bucket.settings.get(LOCK, {}).get("ObjectLockEnabled") == "Enabled"


def check_configuration(configuration: Document | None) -> Document:
    """The configuration that a bucket is to have. Errors: MalformedXML; InvalidArgument."""
    given = configuration or {}
    if given.get("ObjectLockEnabled") != "Enabled":
        raise malformed_xml()
    if given.get("Rule") is None:
        return {"ObjectLockEnabled": "Enabled"}
    default = given["Rule"].get("DefaultRetention") or {}
    days, years = default.get("Days"), default.get("Years")
    if default.get("Mode") not in MODES or (days is None) == (years is None):
        raise malformed_xml()
    period, most = (int(str(days)), _DAYS_MAX) if years is None else (int(years), _YEARS_MAX)
    if period <= 0:
        raise invalid_argument("Default retention period must be a positive integer value.")
    if period > most:
        raise invalid_argument("Default retention period too large.")
    kept = {"Mode": default["Mode"], **({"Days": days} if years is None else {"Years": years})}
    return {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": kept}}


def default_retention(bucket: Bucket, now: Instant) -> Retention | None:
    """The retention of what is written now, if the request says none."""
    default = (bucket.settings.get(LOCK, {}).get("Rule") or {}).get("DefaultRetention")
    if default is None:
        return None
    until = now + default["Days"] * DAY_MS if "Days" in default else years_after(now, default["Years"])
    return Retention(default["Mode"], until)


def years_after(at: Instant, years: int) -> Instant:
    """The same day of a later year; 29 February becomes 1 March where there is none."""
    day = datetime.fromtimestamp(at / 1000, UTC)
    try:
        later = day.replace(year=day.year + years)
    except ValueError:
        later = day.replace(year=day.year + years, month=3, day=1)
    return at + (later - day).days * DAY_MS


def requested(mode: str | None, until: Instant | None, now: Instant) -> Retention | None:
    """The retention that a request asks for by its headers. Errors: InvalidArgument."""
    if mode is None and until is None:
        return None
    if mode is None or until is None:
        message = "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied"
        raise invalid_argument(message, "x-amz-object-lock-mode" if mode is None else _UNTIL_HEADER, "null")
    if mode not in MODES:
        raise invalid_argument("Unknown wormMode directive.", "x-amz-object-lock-mode", mode)
    check_until(until, now)
    return Retention(mode, until)


def check_until(until: Instant, now: Instant) -> None:
    """Refuse a retention that has ended already. Errors: InvalidArgument."""
    if until <= now:
        shown = datetime.fromtimestamp(until / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
        raise invalid_argument("The retain until date must be in the future!", _UNTIL_HEADER, shown)


def retention_of(members: Document) -> Retention | None:
    """The retention of a stored version, also of one that has ended."""
    return Retention(members[MODE], int(members[UNTIL])) if MODE in members else None


def is_loosened(members: Document, wanted: Retention | None, now: Instant) -> bool:
    """Whether another retention would keep a version less than the one that it has now."""
    present = retention_of(members)
    if present is None or present.until <= now:
        return False
    if wanted is None or wanted.until < present.until:
        return True
    return present.mode == COMPLIANCE and wanted.mode != COMPLIANCE


def needs_bypass(members: Document, now: Instant) -> bool:
    """Whether only who bypasses governance may delete a version."""
    present = retention_of(members)
    return present is not None and present.until > now and present.mode == GOVERNANCE


def is_kept(members: Document, now: Instant) -> bool:
    """Whether nobody may delete a version now."""
    present = retention_of(members)
    is_retained = present is not None and present.until > now and present.mode == COMPLIANCE
    return is_retained or members.get(HOLD) == "ON"


def is_protected() -> ServiceError:
    """The error for deleting or changing what object lock keeps."""
    return ServiceError("AccessDenied", "Access Denied because object protected by object lock.", http_status=403)


def missing_configuration() -> ServiceError:
    """The error for object lock in a bucket that has none."""
    return invalid_request("Bucket is missing Object Lock Configuration")


def not_applicable() -> ServiceError:
    """The error for bypassing governance in a bucket without object lock."""
    return invalid_request("x-amz-bypass-governance-retention is only applicable to Object Lock enabled buckets.")
