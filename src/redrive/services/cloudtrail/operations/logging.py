"""The operations that let a trail log, or stop it, and tell whether it does."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudtrail.trails import find_trail, own_trail
from redrive.store.api import Transaction


@operation("StartLogging")
def start_logging(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Let a trail record API calls.

    Errors: TrailNotFoundException; InvalidHomeRegionException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_StartLogging.html
    """
    home, trail = own_trail(tx, caller, name, "cloudtrail:StartLogging")
    if not trail.is_logging:
        tx.resources.put(home, replace(trail, is_logging=True, started_at=tx.now))
    return {}


@operation("StopLogging")
def stop_logging(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Let a trail record nothing more.

    Errors: TrailNotFoundException; InvalidHomeRegionException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_StopLogging.html
    """
    home, trail = own_trail(tx, caller, name, "cloudtrail:StopLogging")
    if trail.is_logging:
        tx.resources.put(home, replace(trail, is_logging=False, stopped_at=tx.now))
    return {}


@operation("GetTrailStatus")
def get_trail_status(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Tell whether a trail records API calls, and since when. Nothing is delivered to buckets, so no delivery is told.

    Errors: TrailNotFoundException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_GetTrailStatus.html
    """
    _, trail = find_trail(tx, caller, name, "cloudtrail:GetTrailStatus")
    status: Document = {
        "IsLogging": trail.is_logging, "LatestDeliveryAttemptTime": "", "LatestNotificationAttemptTime": "",
        "LatestNotificationAttemptSucceeded": "", "LatestDeliveryAttemptSucceeded": "",
        "TimeLoggingStarted": _text(trail.started_at), "TimeLoggingStopped": _text(trail.stopped_at),
    }  # fmt: skip
    if trail.started_at is not None:
        status["StartLoggingTime"] = trail.started_at
    if trail.stopped_at is not None:
        status["StopLoggingTime"] = trail.stopped_at
    return status


def _text(at: Instant | None) -> str:
    return "" if at is None else format_instant(at - at % 1000)
