"""AWS Lambda: functions, their invocation, asynchronous events, and mappings from SQS queues.

API: https://docs.aws.amazon.com/lambda/latest/api/
Semantics: docs/semantics/lambda.md

Left out on purpose: container images, code in S3, durable functions, managed instances. Requests with
their parameters get an error that names the parameter. Functions run on the interpreters installed on this machine.
"""
