"""Quotas and defaults of SNS, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

# Source: https://docs.aws.amazon.com/general/latest/gr/sns.html
STANDARD_TOPICS_MAX = 100_000
FIFO_TOPICS_MAX = 1_000
FIFO_SUBSCRIPTIONS_MAX = 100
FIFO_MESSAGES_PER_S = 3_000
FIFO_BYTES_PER_S = 20_000_000
FIFO_GROUP_MESSAGES_PER_S = 300
FILTER_POLICIES_PER_TOPIC_MAX = 200

# Source: https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
TOPIC_NAME_LENGTH_MAX = 256
DISPLAY_NAME_LENGTH_MAX = 100

# Source: https://docs.aws.amazon.com/sns/latest/dg/sns-tags.html
TAGS_MAX = 50

# Source: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
MESSAGE_BYTES_DEFAULT = 262_144
MESSAGE_BYTES_MIN = 1_024
MESSAGE_BYTES_MAX = 1_048_576
SUBJECT_LENGTH_MAX = 100
ID_LENGTH_MAX = 128
ATTRIBUTE_NAME_LENGTH_MAX = 256
RAW_ATTRIBUTES_MAX = 10

# Source: https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
BATCH_ENTRIES_MAX = 10
BATCH_ID_LENGTH_MAX = 80

# Source: https://docs.aws.amazon.com/sns/latest/dg/fifo-message-dedup.html
DEDUPLICATION_MS = 5 * MINUTE_MS

# Source: https://docs.aws.amazon.com/sns/latest/dg/subscription-filter-policy-constraints.html
FILTER_KEYS_MAX = 5
FILTER_COMBINATIONS_MAX = 150
FILTER_POLICY_BYTES_MAX = 256 * 1_024

# Source: https://docs.aws.amazon.com/sns/latest/api/API_ConfirmSubscription.html
TOKEN_MS = 2 * DAY_MS

# Source: https://docs.aws.amazon.com/sns/latest/api/API_ListTopics.html
PAGE_MAX = 100

# Source: https://docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html
INSIDE_TRIES_MAX = 100_015
CUSTOMER_TRIES_MAX = 50
RETRY_AGE_MS_MAX = 30 * DAY_MS
DELAY_S_MAX = 3_600
RETRIES_MAX = 100
HTTP_TIMEOUT_MS = 15 * SECOND_MS

# Source: https://docs.aws.amazon.com/sns/latest/dg/fifo-message-archiving-replay.html
ARCHIVE_DAYS_MAX = 365

# These limits are ours; docs/semantics/sns.md gives the reasons.
SUBSCRIPTIONS_READ_PAGE = 1_000
AT_ONCE_MAX = 1_000
SENT_TOGETHER_MAX = 10
HELD_AGAIN_MS = 20 * SECOND_MS
MAILS_KEPT_MAX = 1_000
MAIL_AGE_MS = 14 * 24 * HOUR_MS
REPLAYED_PER_CLAIM_MAX = 100
