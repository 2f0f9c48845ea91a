"""Amazon EventBridge Scheduler: schedules and their groups, which really fire, retry and dead-letter.

AWS documents it at https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html. All its operations are here.
Left out on purpose: encryption with a KmsKeyArn (it is stored and returned, nothing is encrypted). Our readings of
AWS's rules stand in docs/semantics/scheduler.md and docs/semantics/delivery.md.

    model/schedule.py     schedules and groups
    model/occurrences.py  when a schedule is invoked, also after an outage
    model/executions.py   one occurrence on its way: its id, its input, its keywords
    model/quota.py        the quota of invocations: what comes too fast is delayed
    model/targets.py      which ARNs a schedule may have as its target
    model/failures.py     what the dead letter says
    model/requests.py     what is checked of a schedule before it is stored
    api_*.py              the operations, by noun
    watch.py              what our own surface tells of schedules: next, missed, runs
    workers/              what happens by itself: occurrences, deletion of groups
    source.py             what the delivery worker asks of a schedule's deliveries

Which API call a target stands for, how its errors count, and how letters are written is `delivery`'s, for all sources.
"""
