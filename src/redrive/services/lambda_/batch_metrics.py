"""The metrics of event source mappings, for those that ask for EventCount, and the age of what is read from streams.

Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
"""

from __future__ import annotations

import functools

from redrive.core.scope import Scope
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.metrics import NAMESPACE
from redrive.store.api import Transaction
from redrive.store.tables.metrics import Series, Watched, dimensions_text

EVENT_COUNT = "EventCount"

POLLED = "PolledEventCount"
FILTERED_OUT = "FilteredOutEventCount"
INVOKED = "InvokedEventCount"
FAILED = "FailedInvokeEventCount"
DROPPED = "DroppedEventCount"
DELETED = "DeletedEventCount"
TO_DESTINATION = "OnFailureDestinationDeliveredEventCount"
POLLERS = "ProvisionedPollers"


def count_events(tx: Transaction, scope: Scope, mapping: EventSourceMapping, **counts: int) -> None:
    """Count events of a mapping, by the names of this module, if it asks for these metrics."""
    if EVENT_COUNT in mapping.metrics:
        for name, value in counts.items():
            tx.metrics.count(_series(scope, mapping.name, name), tx.now, value)


@functools.lru_cache(maxsize=4_096)
def _series(scope: Scope, mapping: str, name: str) -> Series:
    dimensions = dimensions_text({"EventSourceMappingUUID": mapping})
    return Series(Watched(str(scope), NAMESPACE, dimensions), name, "Count")
