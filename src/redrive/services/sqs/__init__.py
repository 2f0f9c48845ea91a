"""Amazon Simple Queue Service: standard and FIFO queues, their messages, redrive to dead-letter queues and back.

AWS documents SQS at https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/Welcome.html. Left out on
purpose: nothing is encrypted, and calls are not throttled. docs/semantics/sqs.md lists AWS's rules as we read them.
"""
