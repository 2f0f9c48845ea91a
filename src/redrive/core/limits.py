"""Whether quotas apply, and when those that count by the second do."""

from __future__ import annotations

import enum


class Limits(enum.Enum):
    """How an engine handles AWS's quotas.

    RELAXED removes quotas (how many, how often), but never rules of shape (which names, bodies, attributes are valid).
    """

    STRICT = "strict"
    RELAXED = "relaxed"


class Rates(enum.Enum):
    """When requests beyond a rate per second are refused: DynamoDB's throughput, the writes to Kinesis's shards.

    A virtual clock stands still while a test runs, so any number of requests would fall into one second. REAL_TIME
    limits rates only where time passes by itself. Limits.RELAXED removes rates altogether.
    """

    REAL_TIME = "real-time"
    ALWAYS = "always"
