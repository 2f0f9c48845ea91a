"""Quotas of CloudTrail.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/userguide/WhatIsCloudTrail-Limits.html
"""

from __future__ import annotations

TRAILS_MAX = 5
"""The trails of a region, those of other regions that apply to all regions included."""

SELECTORS_MAX = 5
"""Event selectors of a trail."""

TAGS_MAX = 50
