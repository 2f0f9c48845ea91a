"""Amazon EventBridge Scheduler: schedules and their groups, which really fire, retry and dead-letter.

AWS documents it at https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html. All its operations are here.
Left out on purpose: encryption with a KmsKeyArn (it is stored and returned, nothing is encrypted) and the throttling of
invocations. Our readings of AWS's rules stand in docs/semantics/scheduler.md and docs/semantics/delivery.md.

    model.py              schedules and groups
    model_occurrences.py  when a schedule is invoked, also after an outage
    model_executions.py   one occurrence on its way: its id, its input, its keywords
    model_targets.py      which API call a target ARN stands for
    model_failures.py     how the target's errors count, and the dead letter
    model_requests.py     what is checked of a schedule before it is stored
    api_*.py              the operations, by noun
    api_watch.py          what our own surface tells of schedules: next, missed, runs
    workers*.py           what happens by itself: occurrences, deletion of groups, forgetting of client tokens
    source.py             what the delivery worker asks of a schedule's deliveries
"""
