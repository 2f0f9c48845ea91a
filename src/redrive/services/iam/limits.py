"""Quotas and defaults of IAM, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

# Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
ROLES_MAX = 1_000
USERS_MAX = 5_000
ACCESS_KEYS_PER_USER_MAX = 2
POLICIES_PER_USER_MAX = 10
USER_INLINE_POLICIES_CHARACTERS_MAX = 2_048
GROUPS_MAX = 300
GROUPS_PER_USER_MAX = 10
POLICIES_PER_GROUP_MAX = 10
GROUP_INLINE_POLICIES_CHARACTERS_MAX = 5_120
INSTANCE_PROFILES_MAX = 1_000
CUSTOMER_POLICIES_MAX = 1_500
POLICIES_PER_ROLE_MAX = 10
VERSIONS_PER_POLICY_MAX = 5
TAGS_MAX = 50
TRUST_POLICY_CHARACTERS_MAX = 2_048
INLINE_POLICIES_CHARACTERS_MAX = 10_240
MANAGED_POLICY_CHARACTERS_MAX = 6_144

# Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
SESSION_S_DEFAULT = 3_600

# Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListRoles.html
PAGE_ITEMS_DEFAULT = 100

# Ours: the minimum interval between two records of an access key's use.
KEY_USE_GRAIN_MS = 15 * 60_000

# Ours: the size of the cache of parsed policy documents. A parsed document takes a few kilobytes.
PARSED_DOCUMENTS_MAX = 8_192
DECISIONS_KEPT_MAX = 8_192
