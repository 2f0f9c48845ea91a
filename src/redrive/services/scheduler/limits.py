"""Quotas and defaults of EventBridge Scheduler, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from redrive.core.clock import HOUR_MS, MINUTE_MS

# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html
INPUT_BYTES_MAX = 262_144
GROUPS_MAX = 500
INVOCATIONS_PER_S_MAX = 1_000

# Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListSchedules.html
PAGE_MAX = 100

# Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html
EVENT_AGE_S_DEFAULT = 86_400
RETRIES_DEFAULT = 185

# Source: https://docs.aws.amazon.com/general/latest/gr/aws_tagging.html
TAGS_MAX = 50

# These limits are ours; docs/semantics/scheduler.md gives the reasons.
START_PAST_MS_MAX = 5 * MINUTE_MS
CLIENT_TOKEN_KEPT_MS = 24 * HOUR_MS
DELETIONS_PER_CLAIM_MAX = 200
LIST_SCAN_PAGE = 500
LEFT_OUT_COUNTED_MAX = 1_000
WATCHED_PAGE = 100
FIRINGS = 5
