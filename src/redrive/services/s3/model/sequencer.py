"""Which of two sequencers is the later one. Sequencers order the events of one key; those of other keys say nothing.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
"""

from __future__ import annotations


def is_later(sequencer: str, other: str) -> bool:
    """Whether the first of two events of one key happened after the second. AWS's sequencers differ in length."""
    length = max(len(sequencer), len(other))
    return sequencer.upper().ljust(length, "0") > other.upper().ljust(length, "0")
