"""A double of aiobotocore: the classes that it has, in its modules, and no connections.

aiobotocore pins botocore to a few patch versions, which are not those of constraints.txt. What is here is as in
aiobotocore 2 and 3: clients whose calls, event handlers, context managers, waiters and bodies are awaited.
"""
