"""Faults in what S3 tells: notifications that come twice, in another order, or late, as S3 allows itself.

S3 says at least once and promises no order. Here each notification comes once, and in order where its target keeps one,
until a fault says otherwise. A fault strikes one notification: what one destination is told of one event.
"""

from __future__ import annotations

from redrive.delivery.faults import Fault, all_faults, first_to_strike
from redrive.store.api import Transaction

DUPLICATE = "duplicate"
"""The notification comes a second time, the same record with the same sequencer, up to `latency_ms` later."""
REORDER = "reorder"
"""The notification waits for a random part of `latency_ms`, so that later ones may overtake it."""
DELAY = "delay"
"""The notification waits for `latency_ms`."""

_TOLD = (
    "ObjectCreated:Put", "ObjectCreated:Post", "ObjectCreated:Copy", "ObjectCreated:CompleteMultipartUpload",
    "ObjectRemoved:Delete", "ObjectRemoved:DeleteMarkerCreated", "ObjectRestore:Post", "ObjectRestore:Completed",
    "ObjectRestore:Delete", "ObjectTagging:Put", "ObjectTagging:Delete", "ObjectAcl:Put", "ObjectRetention:Put",
    "ObjectAnnotation:Put", "ObjectAnnotation:Delete", "LifecycleExpiration:Delete",
    "LifecycleExpiration:DeleteMarkerCreated", "LifecycleTransition", "IntelligentTiering",
)  # fmt: skip


def may_strike(event: str) -> bool:
    """Whether a fault's event, with or without `s3:`, covers an event that S3 tells of; an empty one covers all."""
    return any(Fault("", "*", s3=DELAY, event=event).is_told("arn:aws:s3:::any/key", told) for told in _TOLD)


def waits_of(tx: Transaction, arn: str, event: str) -> list[int]:
    """How long each copy of a notification waits, in milliseconds: `[0]` if no fault strikes.

    Of each kind, the oldest fault strikes that is aimed at the object and the event. All draws use the transaction's
    entropy, which is seeded in virtual time.
    """
    aimed = [fault for fault in all_faults(tx).faults if fault.is_told(arn, event)]
    wait_ms = 0.0
    for kind in (DELAY, REORDER):
        fault = first_to_strike(tx, (one for one in aimed if one.s3 == kind))
        if fault is not None:
            wait_ms += fault.latency_ms if kind == DELAY else tx.entropy.uniform(0.0, fault.latency_ms)
    waits = [round(wait_ms)]
    doubled = first_to_strike(tx, (one for one in aimed if one.s3 == DUPLICATE))
    if doubled is not None:
        waits.append(round(wait_ms + tx.entropy.uniform(0.0, doubled.latency_ms)))
    return waits
