"""The store: transactions over a handful of tables. The only room with SQL in it.

A *step* is a function of a `Transaction`. It may run twice, so it touches nothing else. See docs/decisions/0002.
"""
