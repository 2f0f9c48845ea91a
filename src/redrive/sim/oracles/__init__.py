"""Oracles: models of services that are too simple to be wrong. The engine is compared with them.

They use no store, no index and no optimisation: only lists, loops, and AWS's rules.
"""
