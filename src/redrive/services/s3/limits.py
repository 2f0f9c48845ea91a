"""Quotas of S3.

Source: https://docs.aws.amazon.com/general/latest/gr/s3.html
"""

from __future__ import annotations

BUCKETS_PAGE = 10_000
