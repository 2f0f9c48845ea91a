"""Hash keys: the numbers from 0 to 2^128 - 1 that decide which shard takes a record.

Source: https://docs.aws.amazon.com/streams/latest/dev/key-concepts.html
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.services.kinesis.model.requests import invalid_argument

HASH_KEY_MAX = (1 << 128) - 1


def hash_of(partition_key: str) -> int:
    """The hash key of a partition key: MD5 of its UTF-8 bytes."""
    return int.from_bytes(hashlib.md5(partition_key.encode(), usedforsecurity=False).digest(), "big")


def explicit_hash(text: str) -> int:
    """The number of an ExplicitHashKey. Errors: InvalidArgumentException for a number beyond 2^128 - 1."""
    number = int(text)
    if number > HASH_KEY_MAX:
        raise invalid_argument(
            f"Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was {text}"
        )
    return number


def uniform_ranges(count: int) -> list[tuple[int, int]]:
    """Cut all hash keys into `count` ranges of the same width; the last range also takes the remainder."""
    width = (HASH_KEY_MAX + 1) // count
    starts = [number * width for number in range(count)]
    return list(zip(starts, [*(start - 1 for start in starts[1:]), HASH_KEY_MAX], strict=True))


@dataclass(frozen=True, slots=True)
class Routes:
    """The open shards of a stream: `starts` are the first hash keys of their ranges, in order."""

    starts: Sequence[int]
    shards: Sequence[int]
    """The indexes of the shards, in the same order."""

    def shard_of(self, hash_key: int) -> int:
        """The index of the shard that takes this hash key."""
        return self.shards[bisect_right(self.starts, hash_key) - 1]
