"""The main story: a bug is found in a handler and mended; then a day of scheduled work in which much goes wrong.

The bug is found by `redrive prove` itself. The day is told with boto3 against a server of its own, so nothing in it is
faked: the schedule fires, the function runs in processes, messages come back, one ends in the dead-letter queue and is
redriven.
"""
