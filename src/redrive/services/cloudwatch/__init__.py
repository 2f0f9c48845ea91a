"""CloudWatch: metrics, published by users or counted by the services here, their statistics and metric math.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/Welcome.html

Left out on purpose: Metrics Insights (`SELECT …`), SEARCH and the functions that ask other services; data points beyond
15 days; entities (checked, then nothing here asks for them). See docs/semantics/cloudwatch.md.
"""
