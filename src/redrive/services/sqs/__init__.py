"""Amazon Simple Queue Service: standard and FIFO queues, their messages, redrive to dead-letter queues and back.

AWS documents it at https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/Welcome.html.
Left out on purpose: queue policies do not decide who may use a queue, nothing is encrypted, calls are not throttled.
Our readings of AWS's rules stand in docs/semantics/sqs.md.
"""
