"""Fair queues: which message groups of a standard queue are noisy.

AWS does not publish its rule; docs/semantics/sqs.md describes ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.services.sqs import limits


def noisy_groups(in_flight: Mapping[str | None, int]) -> list[str]:
    """Return the groups that have at least ten messages in flight, and more than a tenth of all messages in flight.

    At most nine groups are noisy at a time.
    """
    total = sum(in_flight.values())
    return sorted(
        group_id
        for group_id, count in in_flight.items()
        if group_id is not None and count >= limits.NOISY_IN_FLIGHT_MIN and count > limits.NOISY_SHARE * total
    )
