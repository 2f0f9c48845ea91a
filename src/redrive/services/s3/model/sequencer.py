"""Sequencers: they order the events of one key.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
"""

from __future__ import annotations

DIGITS = 18
"""AWS's examples have 16 or 18 digits, so a reader has to fill up the shorter of two on the right."""


def sequencer_of(number: int) -> str:
    """The sequencer for the number of a change: numbers that grow give sequencers that grow."""
    return f"{number:0{DIGITS}X}"


def is_later(sequencer: str, other: str) -> bool:
    """Whether the first of two events of one key happened after the second, as AWS says to compare sequencers."""
    length = max(len(sequencer), len(other))
    return sequencer.upper().ljust(length, "0") > other.upper().ljust(length, "0")
