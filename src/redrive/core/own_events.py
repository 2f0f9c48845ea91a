"""Events that a service tells the default bus of its caller's account: what AWS's own services send.

A service makes one without knowing EventBridge; `store.api.Services.publish_event` takes it there.
"""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.documents import Document


@dataclass(frozen=True, slots=True)
class OwnEvent:
    """What a service says in an event; the envelope is EventBridge's. `source` begins with `aws.`

    `at`: when the event happened, if that was earlier than it is told.
    """

    source: str
    detail_type: str
    detail: Document
    resources: tuple[str, ...] = ()
    at: Instant | None = None
