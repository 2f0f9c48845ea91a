"""Measurements: `python -m benchmarks`. What they said last is in docs/benchmarks.md.

processes   servers as processes of their own: pinned to a core, their CPU and memory read from /proc
load        a closed loop of keep-alive connections
dialects    SQS requests as bytes, and what their answers say
sqs         one load after another against one endpoint
events      EventBridge: loads, latency, fan-out
patterns    event patterns, in process
startup     from nothing to the first answer
travel      a day of schedules in virtual time
lag         what a schedule costs to make over the wire, and how late its message is
handler     what it costs to make a handler idempotent, here and with Powertools
prove       how long a search of a handler's histories takes
peers       other servers of the same API, from the package registries
report      rows, tables, JSON
"""
