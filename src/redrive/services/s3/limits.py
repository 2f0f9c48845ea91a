"""Quotas of S3.

Source: https://docs.aws.amazon.com/general/latest/gr/s3.html and
https://docs.aws.amazon.com/AmazonS3/latest/userguide/BucketRestrictions.html
"""

from __future__ import annotations

BUCKETS_PAGE = 10_000
"""The most buckets that one page of ListBuckets has."""

BUCKETS_PER_READ = 1_000
"""Buckets that are read at once, while a list looks for those of one account."""

BUCKETS_MAX = 10_000
"""Buckets of an account."""

BUCKET_TAGS_MAX = 50

POLICY_BYTES_MAX = 20 * 1024
CORS_RULES_MAX = 100
LIFECYCLE_RULES_MAX = 1_000
GRANTS_MAX = 100

CONFIGURATIONS_MAX = 1_000
"""Configurations of metrics, analytics, inventories or intelligent tiering of one bucket."""

CONFIGURATIONS_PAGE = 100
EXPIRED_PER_CLAIM_MAX = 500
"""Versions that lifecycle rules look at in one transaction."""

LIST_PAGE = 1_000
"""The most keys, versions, uploads or parts that one answer lists."""
DELETED_KEYS_MAX = 1_000
KEY_BYTES_MAX = 1_024
METADATA_BYTES_MAX = 2_048
OBJECT_TAGS_MAX = 10
TAG_KEY_LENGTH_MAX = 128
TAG_VALUE_LENGTH_MAX = 256

PART_NUMBER_MAX = 10_000
PART_BYTES_MIN = 5 * 1024 * 1024
PUT_BYTES_MAX = 5 * 1024**3
COPY_BYTES_MAX = 5 * 1024**3
OBJECT_BYTES_MAX = 50 * 1024**4

# Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-filtering.html
NOTIFICATIONS_MAX = 100
FILTER_VALUE_BYTES_MAX = 1024

AT_ONCE_MAX = 100
"""How many queues get a notification in the transaction that makes it. A bucket has no more configurations."""
SENT_TOGETHER_MAX = 10
