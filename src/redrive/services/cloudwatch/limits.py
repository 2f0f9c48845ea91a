"""Quotas of CloudWatch's metrics, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, HOUR_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
METRICS_PER_PUT_MAX = 1_000
ENTITIES_PER_PUT_MAX = 2
TIMESTAMP_AGE_MS_MAX = 14 * DAY_MS
TIMESTAMP_FUTURE_MS_MAX = 2 * HOUR_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html
VALUES_PER_DATUM_MAX = 150
VALUE_MAX = 2.0**360
STORAGE_RESOLUTIONS_S = (1, 60)

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
QUERIES_MAX = 500
DATAPOINTS_PER_PAGE_MAX = 100_800
VALUES_COMPUTED_MAX = 1_000_000
"""Ours: how many values the expressions of one request may compute, a second or two of work.

FILL creates a value for each period of the request's time range, which can be very long.
"""
HIGH_RESOLUTION_PERIODS_S = (1, 5, 10, 20, 30)
HIGH_RESOLUTION_AGE_MS_MAX = 3 * HOUR_MS
MINUTES_AGE_MS_MAX = 15 * DAY_MS
FIVE_MINUTES_AGE_MS_MAX = 63 * DAY_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html
STATISTICS_DATAPOINTS_MAX = 1_440

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html
METRICS_PER_PAGE_MAX = 500
LISTED_AGE_MS_MAX = 14 * DAY_MS
RECENTLY_ACTIVE_MS = 3 * HOUR_MS
