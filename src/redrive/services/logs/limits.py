"""Quotas and defaults of CloudWatch Logs, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
BATCH_BYTES_MAX = 1_048_576
EVENT_OVERHEAD_BYTES = 26
BATCH_SPAN_MS_MAX = DAY_MS
EVENT_AGE_MS_MAX = 14 * DAY_MS
EVENT_FUTURE_MS_MAX = 2 * HOUR_MS

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html
PAGE_EVENTS_MAX = 10_000
PAGE_BYTES_MAX = 1_048_576

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
DESCENDING_FROM_AT = 1_704_067_200_000  # 2024-01-01T00:00:00Z

# How much one FilterLogEvents reads before it answers, because other requests wait meanwhile: a number of events, and a
# number of characters times the weight of the filter. AWS says only that pages may be short or empty.
SCANNED_EVENTS_MAX = 20_000
SCANNED_WEIGHT_MAX = 8_388_608

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html
QUERIES_MAX = 30
QUERY_MS_MAX = HOUR_MS
QUERY_KEPT_MS = 7 * DAY_MS
QUERY_DEFINITIONS_MAX = 1_000

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html
QUERY_GROUPS_MAX = 50
QUERY_RESULTS_PAGE = 10_000

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutMetricFilter.html
METRIC_FILTERS_MAX = 100
DATA_PER_PUT = 500

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutSubscriptionFilter.html
SUBSCRIPTION_FILTERS_MAX = 2
SUBSCRIPTION_AGE_MS_MAX = DAY_MS
SUBSCRIPTION_WAIT_MS_MAX = 10 * MINUTE_MS
SUBSCRIPTION_BATCH_BYTES = 160_000
"""Random text of this size, compressed and in base64, still is an event that a function takes."""

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartLiveTail.html
TAIL_MS_MAX = 3 * HOUR_MS
TAIL_EVENTS_MAX = 500
TAIL_EVERY_MS = SECOND_MS
TAIL_READ_MAX = 5_000

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CloudWatchLogs-Field-Indexing-Syntax.html
INDEXED_FIELDS_MAX = 20
INDEXED_FIELD_LENGTH_MAX = 100

# How much a query reads in one transaction, because other requests wait meanwhile.
QUERY_PAGE_EVENTS = 2_000
QUERY_PAGE_CHARACTERS = 2_000_000
QUERIES_AT_ONCE = 2
"""How many queries a node runs beside each other."""
QUERY_RENEWED_MS = 5_000
QUERY_LEASE_MS = 30_000
"""A query whose node is gone begins again after this time."""

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeLogGroups.html
DESCRIBED_MAX = 50

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)  # fmt: skip
DELIVERY_RETENTION_DAYS = 1

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutResourcePolicy.html
RESOURCE_POLICIES_MAX = 10

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_TagResource.html
TAGS_MAX = 50

# Embedded metrics. Source:
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
METRICS_PER_DIRECTIVE_MAX = 100
METRIC_VALUES_MAX = 100
METRIC_DIMENSIONS_MAX = 30

# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutAccountPolicy.html
TRANSFORMER_POLICIES_MAX = 20
