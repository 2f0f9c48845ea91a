"""Quotas of ECR.

Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/service-quotas.html
"""

from __future__ import annotations

PAGE = 100
REPOSITORIES_MAX = 100_000
