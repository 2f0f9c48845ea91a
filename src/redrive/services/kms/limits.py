"""Quotas and defaults of KMS.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html
"""

from __future__ import annotations

KEYS_MAX = 100_000
ALIASES_PER_KEY_MAX = 50
GRANTS_PER_KEY_MAX = 50_000
POLICY_BYTES_MAX = 32 * 1024
TAGS_MAX = 50

# https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html
DELETION_DAYS_MIN = 7
DELETION_DAYS_MAX = 30

# https://docs.aws.amazon.com/kms/latest/APIReference/API_EnableKeyRotation.html
ROTATION_DAYS = 365

# https://docs.aws.amazon.com/kms/latest/APIReference/API_RotateKeyOnDemand.html
ROTATIONS_ON_DEMAND_MAX = 25

PAGE = 100
"""How many entries a page of a list has, if the request does not say."""

GRANTS_PAGE = 50

UNWRAPPED_KEPT = 256
"""The size of the cache of private keys that were unwrapped: reading one takes longer than using it."""
