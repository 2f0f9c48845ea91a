"""Runs function code: in processes of its own in production, inside this process in simulation.

Knows invocations (`delivery.invocation`) and the Lambda Runtime API; it must not know the store, nor any service.
"""
