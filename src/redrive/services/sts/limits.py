"""Quotas and defaults of STS, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

# Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
ROLE_SESSION_S_DEFAULT = 3_600
CHAINED_SESSION_S_MAX = 3_600

# Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetSessionToken.html
ACCOUNT_SESSION_S_DEFAULT = 43_200
