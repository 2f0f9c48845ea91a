"""The store: transactions over a small number of tables. The only room with SQL.

A *step* is a function of a `Transaction`. It may run twice, so it changes nothing else. See docs/decisions/0002.
"""
