"""Nodes of one store are killed under load, and their database; what is left is held against what was answered.

cluster    the nodes and the database as processes, and who ends them
client     requests that go round the nodes; an answer, a refusal, or a doubt
load       what the clients do, and what they remember of it
checks     what has to be true of the memory and of what is left
streams    another command: streams, functions that read them, and an index; with stream_load and stream_checks
topics     another command: topics and their queues
alarms     another command: alarms, metric filters, and whom they tell; with alarm_checks
"""
