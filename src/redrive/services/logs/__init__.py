"""CloudWatch Logs: groups, streams, events, filters and retention.

https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/Welcome.html

Left out on purpose: metric filters and subscriptions (their targets belong to other services), Logs Insights queries,
encryption (a key's ARN is only stored and shown), masking (nothing is masked, so `unmask` has no effect).
"""
