"""Amazon EventBridge: event buses, rules and their targets. Events really reach targets, or dead letters.

AWS documents it at https://docs.aws.amazon.com/eventbridge/latest/APIReference/Welcome.html. The layout:

    operations/   one module for each noun of the API
    publish.py    the one way onto a bus: PutEvents, buses as targets, schedules and replays call it
    matchers.py   the compiled patterns of a bus
    source.py     what a delivery of a rule does, and what follows from its end
    model/        events, buses, rules, targets, permissions, dead letters, metrics

Left out on purpose: global endpoints and partner event sources (nobody publishes to this machine as a partner),
encryption with a customer's key (its name is stored and returned). docs/semantics/events.md lists AWS's rules.
"""
