"""CloudWatch: metrics from users and from the services here, their statistics, and metric math.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/Welcome.html

Left out on purpose: Metrics Insights (`SELECT …`), SEARCH and the functions that query other services; data points
older than 15 days; entities (they are checked, but not stored). See docs/semantics/cloudwatch.md.
"""
