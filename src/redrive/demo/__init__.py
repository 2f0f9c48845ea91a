"""The main story: a bug is found in a handler and fixed; then a day of scheduled work with many failures.

`redrive prove` itself finds the bug. The day uses boto3 against a server of its own, so nothing is faked: the schedule
fires, the function runs in processes, messages come back, one ends in the dead-letter queue and is redriven.
"""
