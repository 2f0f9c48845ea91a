"""Quotas of S3.

Source: https://docs.aws.amazon.com/general/latest/gr/s3.html
"""

from __future__ import annotations

BUCKETS_PAGE = 10_000

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
