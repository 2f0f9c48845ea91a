"""Oracles: models of services that are too simple to be wrong, to hold the engine against.

They know no store, no index and no speed: lists, loops, and AWS's rules one by one.
"""
