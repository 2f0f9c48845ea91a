"""Quotas and defaults of Kinesis, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, MINUTE_MS, SECOND_MS

# Source: https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
SHARDS_MAX = 20_000
STREAM_SHARDS_MAX = 10_000
ON_DEMAND_SHARDS = 4
ON_DEMAND_STREAMS_MAX = 50
CONSUMERS_MAX = 20
SHARD_RECORDS_PER_S = 1_000
SHARD_BYTES_PER_S = 1_048_576
RETENTION_HOURS_MIN = 24
RETENTION_HOURS_MAX = 8_760
WARM_MIBPS_MAX = 10_240

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateShardCount.html
SCALINGS_PER_DAY_MAX = 10
SCALING_WINDOW_MS = DAY_MS

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamMode.html
MODE_CHANGES_PER_DAY_MAX = 2

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
REQUEST_BYTES_MAX = 10_485_760
RECORD_KIB_DEFAULT = 1_024

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html
RECORDS_MAX = 10_000
RECORDS_BYTES_MAX = 10_485_760

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetShardIterator.html
ITERATOR_MS = 5 * MINUTE_MS

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html
LIST_SHARDS_DEFAULT = 1_000
TOKEN_MS = 300 * SECOND_MS

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStream.html
DESCRIBED_SHARDS_DEFAULT = 100

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListStreams.html
LIST_STREAMS_DEFAULT = 100

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListStreamConsumers.html
LIST_CONSUMERS_DEFAULT = 100

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_AddTagsToStream.html
TAGS_MAX = 50
TAG_KEY_LENGTH_MAX = 128
TAG_VALUE_LENGTH_MAX = 256

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateAccountSettings.html
COMMITMENT_MS_MIN = DAY_MS

# Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html
SUBSCRIPTION_MS = 5 * MINUTE_MS
SUBSCRIPTION_HELD_MS = 5 * SECOND_MS
"""How long after a call another one is refused; after that it takes over."""

SUBSCRIBER_BYTES_PER_S_MAX = 2 * 1024 * 1024  # For each consumer and shard.
EVENT_BYTES_MAX = SUBSCRIBER_BYTES_PER_S_MAX  # Ours: AWS names no size.
QUIET_MS = 5 * SECOND_MS  # Ours: after how long without records a subscriber is told how far it is.

# This limit is from memory.
POLICY_BYTES_MAX = 20_480
