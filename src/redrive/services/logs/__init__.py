"""CloudWatch Logs: groups, streams, events, filters and retention.

https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/Welcome.html

Left out on purpose: metric filters and subscriptions (their targets are other services' business), Logs Insights
queries, encryption (a key's ARN is kept and shown), masking (nothing is masked, so `unmask` shows nothing more).
"""
