"""AWS Lambda: functions, their invocation, asynchronous events, and mappings from SQS queues.

API: https://docs.aws.amazon.com/lambda/latest/api/
Semantics: docs/semantics/lambda.md

Left out on purpose: versions other than $LATEST and aliases, container images, code in S3, streams as event sources,
filters of mappings, function URLs. Their parameters are refused by name. Functions run on the interpreters that the
machine has.
"""
