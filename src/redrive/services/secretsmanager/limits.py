"""Quotas and defaults of Secrets Manager.

Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html
"""

from __future__ import annotations

from redrive.core.clock import MINUTE_MS, SECOND_MS

SECRETS_MAX = 500_000
VALUE_BYTES_MAX = 65_536
POLICY_CHARACTERS_MAX = 20_480
TAGS_MAX = 50
VERSIONS_MAX = 100
"""How many versions are kept. Of those without stages the oldest are dropped first."""

DELETION_DAYS_MIN = 7
DELETION_DAYS_MAX = 30

LIST_PAGE = 100
BATCH_PAGE = 20

PASSWORD_LENGTH = 32
PASSWORD_LENGTH_MAX = 4_096

STEP_WAITS_MS = (MINUTE_MS, 2 * MINUTE_MS)
"""The waits before a failed step of a rotation is called again, as Lambda does; then the rotation failed."""

STEP_MARGIN_MS = 30 * SECOND_MS
"""How much longer than its function's timeout a step may take until it is called again."""

# https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_schedule.html
ROTATION_HOURS_MIN = 4
