"""Quotas and defaults of EventBridge, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

# Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
BUSES_MAX = 100
RULES_PER_BUS_MAX = 300
TARGETS_PER_RULE_MAX = 5
PATTERN_CHARACTERS_MAX = 2_048
BUS_POLICY_CHARACTERS_MAX = 10_240

# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutTargets.html
TARGETS_PER_CALL_MAX = 10

# The sum over all entries of a request; it must stay below.
# Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
ENTRIES_BYTES_END = 1_048_576
TIME_BYTES = 14
"""What an entry's Time counts for. Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html"""

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
