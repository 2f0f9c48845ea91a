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
HOURS_AGE_MS_MAX = 455 * DAY_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html
STATISTICS_DATAPOINTS_MAX = 1_440

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html
METRICS_PER_PAGE_MAX = 500
LISTED_AGE_MS_MAX = 14 * DAY_MS
RECENTLY_ACTIVE_MS = 3 * HOUR_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
ALARM_PERIODS_S = (10, 20, 30)
"""The periods of alarms under a minute; longer ones are multiples of 60."""
EVALUATED_S_MAX = 7 * 86_400
SHORT_PERIOD_S_END = 3_600
EVALUATED_S_MAX_SHORT = 86_400
"""The longest time that an alarm evaluates, for periods of an hour and more, and for shorter ones."""
ALARM_METRICS_MAX = 10
ALARM_TAGS_MAX = 50
ALARMS_DELETED_MAX = 100
ALARMS_PER_PAGE = 50
HISTORY_PER_PAGE = 100

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html
HISTORY_KEPT_MS = 14 * DAY_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutCompositeAlarm.html
CHILDREN_MAX = 100
RULE_ELEMENTS_MAX = 500
PARENTS_MAX = 150

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutAlarmMuteRule.html
MUTE_RULES_PER_PAGE = 50
MUTE_MS_MIN = 60_000
MUTE_MS_MAX = 15 * DAY_MS

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
DASHBOARD_NAME_LENGTH_MAX = 255
WIDGETS_MAX = 500
DASHBOARDS_PER_PAGE = 1_000
DASHBOARDS_DELETED_MAX = 100
GRID_WIDTH = 24
GRID_HEIGHT_MAX = 1_000
