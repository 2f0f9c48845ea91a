"""CloudWatch Logs: groups, streams, events, retention, filters with their metrics and subscriptions, Insights queries.

https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/Welcome.html

Left out on purpose: encryption (a key's ARN is only stored and shown), masking (nothing is masked, so `unmask` has no
effect), parsers of vended logs in transformers, Firehose and S3 as destinations.
"""
