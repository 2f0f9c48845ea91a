"""The operations on a trail's event selectors: which calls it records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudtrail.model.selectors import DEFAULT_SELECTORS, checked, complete
from redrive.services.cloudtrail.model.trail import trail_arn
from redrive.services.cloudtrail.trails import find_trail, own_trail
from redrive.store.api import Transaction


@operation("PutEventSelectors")
def put_event_selectors(
    tx: Transaction, caller: Caller, *, trail_name: str, event_selectors: Sequence[Document] | None = None,
    advanced_event_selectors: Sequence[Document] | None = None,
) -> Document:  # fmt: skip
    """Replace the selectors of a trail.

    Errors: InvalidEventSelectorsException; TrailNotFoundException; InvalidHomeRegionException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_PutEventSelectors.html
    """
    home, trail = own_trail(tx, caller, trail_name, "cloudtrail:PutEventSelectors")
    checked(event_selectors, advanced_event_selectors)
    changed = replace(
        trail, selectors=complete(event_selectors or ()), advanced=tuple(advanced_event_selectors or ())
    )  # fmt: skip
    tx.resources.put(home, changed)
    kind = "AdvancedEventSelectors" if changed.advanced else "EventSelectors"
    return {"TrailARN": trail_arn(home, trail.name), kind: list(changed.advanced or changed.selectors)}


@operation("GetEventSelectors")
def get_event_selectors(tx: Transaction, caller: Caller, *, trail_name: str) -> Document:
    """Show the selectors of a trail; a trail without any records all management events.

    Errors: TrailNotFoundException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_GetEventSelectors.html
    """
    home, trail = find_trail(tx, caller, trail_name, "cloudtrail:GetEventSelectors")
    arn = trail_arn(home, trail.name)
    if trail.advanced:
        return {"TrailARN": arn, "AdvancedEventSelectors": list(trail.advanced)}
    return {"TrailARN": arn, "EventSelectors": list(trail.selectors or DEFAULT_SELECTORS)}
