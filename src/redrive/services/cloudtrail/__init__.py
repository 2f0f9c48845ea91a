"""CloudTrail: trails, and the records of API calls that they bring to EventBridge's default bus.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-user-guide.html
Left out: log files in buckets, log groups and topics; events of data; Insights, Lake, LookupEvents.
"""
