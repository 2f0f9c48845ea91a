"""SNS: topics, their subscriptions, and the deliveries of what is published.

Operations store definitions; `publish.py` makes one delivery for each subscription; `source.py` says how each protocol
is reached and what follows from a failure.
"""
