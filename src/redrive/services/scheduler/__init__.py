"""Amazon EventBridge Scheduler: schedules and their groups. Schedules really fire, retry and dead-letter.

AWS documents it at https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html. All its operations are here.
Left out on purpose: encryption with a KmsKeyArn (the ARN is stored and returned; nothing is encrypted).
docs/semantics/scheduler.md and docs/semantics/delivery.md list AWS's rules as we read them. ARCHITECTURE.md explains
the layout that all services share.

`delivery` serves all sources: it maps targets to API calls, classifies errors and writes dead letters.
"""
