"""Fair queues: which groups of a standard queue are noisy.

AWS does not publish its rule; ours stands in docs/semantics/sqs.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.services.sqs import limits


def noisy_groups(in_flight: Mapping[str | None, int]) -> list[str]:
    """The groups that hold an unfair share of what is in flight: at least ten messages, and more than a tenth of all.

    At most nine groups are noisy at a time.
    """
    total = sum(in_flight.values())
    return sorted(
        group_id
        for group_id, count in in_flight.items()
        if group_id is not None and count >= limits.NOISY_IN_FLIGHT_MIN and count > limits.NOISY_SHARE * total
    )
