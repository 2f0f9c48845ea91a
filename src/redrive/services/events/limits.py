"""Quotas and defaults of EventBridge, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from redrive.core.clock import DAY_MS, MINUTE_MS, SECOND_MS

# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
BUSES_MAX = 100
RULES_PER_BUS_MAX = 300
TARGETS_PER_RULE_MAX = 5
PATTERN_CHARACTERS_MAX = 2_048
BUS_POLICY_CHARACTERS_MAX = 10_240

# Invocations per second, by region.
# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
INVOCATIONS_PER_S: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("us-east-1", "us-west-2", "eu-west-1"), 18_750),
        **dict.fromkeys(("us-east-2", "eu-central-1", "eu-south-2"), 4_500),
        **dict.fromkeys(("us-west-1", "ap-northeast-1", "ap-southeast-1", "ap-southeast-2", "eu-west-2"), 2_250),
        **dict.fromkeys(("ap-east-1", "ap-northeast-2", "ap-south-1", "ca-central-1", "eu-north-1"), 1_100),
        **dict.fromkeys(("eu-west-3", "sa-east-1"), 1_100),
    }
)
INVOCATIONS_PER_S_ELSEWHERE = 750

# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutTargets.html
TARGETS_PER_CALL_MAX = 10

# The sum over all entries of a request; it must stay below.
# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
ENTRIES_BYTES_END = 1_048_576
TIME_BYTES = 14
"""What an entry's Time counts for. Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html"""

# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-logs.html
LOG_RECORD_BYTES_MAX = 1_000_000

# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_RetryPolicy.html
EVENT_AGE_S_DEFAULT = 86_400
RETRIES_DEFAULT = 185

# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListRules.html
PAGE_MAX = 100

# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_TagResource.html
TAGS_MAX = 50

# How often an event may go from bus to bus.
# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-to-bus.html
BUS_HOPS_MAX = 1

# Ours: how many matchers of buses are kept compiled, and how many rules are read at a time.
MATCHERS_KEPT = 256
RULES_READ_PAGE = 1_000

# Ours: how many deliveries one call of PutEvents makes itself. The worker makes the others, in transactions of its own.
AT_ONCE_MAX = 100

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
SENT_TOGETHER_MAX = 10

# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-replay-archived-event.html
REPLAYS_MAX = 10
REPLAYS_KEPT_MS = 90 * DAY_MS

# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
CONNECTIONS_MAX = 3_000
API_DESTINATIONS_MAX = 3_000

# Ours: how many replays share a transaction.
REPLAYS_PER_CLAIM_MAX = 10

# Ours: a request for a token counts as lost after its lease, and is repeated at these intervals if nobody answers it.
TOKEN_LEASE_MS = MINUTE_MS
TOKEN_WAITS_MS = (SECOND_MS, 2 * SECOND_MS, 4 * SECOND_MS)
TOKEN_POLL_MS = 100
"""How long a call waits between two looks whether its token has come."""

# Ours: how many instants of a cron that nobody fired are counted.
SKIPPED_COUNTED_MAX = 1_000

# Ours: how many can tail at once, how many events are kept for each, and after how many events a tail ends if nobody
# asks for them.
TAILS_MAX = 20
TAIL_EVENTS_KEPT = 1_000
TAIL_UNASKED_MAX = 10_000
TAIL_PAGE = 100
