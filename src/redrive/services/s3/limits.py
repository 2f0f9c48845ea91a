"""Quotas of S3.

Source: https://docs.aws.amazon.com/general/latest/gr/s3.html
"""

from __future__ import annotations

BUCKETS_PAGE = 10_000

# Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-filtering.html
NOTIFICATIONS_MAX = 100
FILTER_VALUE_BYTES_MAX = 1024

AT_ONCE_MAX = 100
"""How many queues get a notification in the transaction that makes it. A bucket has no more configurations."""
SENT_TOGETHER_MAX = 10
