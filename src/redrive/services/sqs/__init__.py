"""Amazon Simple Queue Service: standard queues, their messages, and redrive to dead-letter queues.

AWS documents it at https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/Welcome.html.
Left out on purpose, and refused in clear words: FIFO queues. Not offered: AddPermission and RemovePermission (set the
Policy attribute instead) and message move tasks. Our readings of AWS's rules stand in docs/semantics/sqs.md.
"""
