"""Work in three beats: claim (a transaction), attempt (outside, under a lease), settle (a transaction, fenced).

This room knows deliveries, operations, workers and invocations. It knows no AWS service.
"""
