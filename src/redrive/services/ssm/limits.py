"""Quotas and defaults of Parameter Store.

Source: https://docs.aws.amazon.com/general/latest/gr/ssm.html
"""

from __future__ import annotations

STANDARD_PARAMETERS_MAX = 10_000
STANDARD_BYTES_MAX = 4_096
ADVANCED_BYTES_MAX = 8_192
VERSIONS_MAX = 100
LABELS_PER_VERSION_MAX = 10
LEVELS_MAX = 15
NAME_LENGTH_MAX = 1_011
"""The length of a parameter's ARN, from its beginning to the end of the name."""
TAGS_MAX = 50
POLICIES_MAX = 10

# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParametersByPath.html
PATH_PAGE = 10
DESCRIBED_PAGE = 10
HISTORY_PAGE = 50
