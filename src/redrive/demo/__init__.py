"""The main story: a day of scheduled work with everything that goes wrong in it, and what is left at the end.

It is told with boto3 against a server of its own, so nothing in it is faked: the schedule fires, the function runs in
processes, messages come back, one ends in the dead-letter queue and is redriven.
"""
