"""Handlers of public repositories under `redrive prove`: `python -m benchmarks.handlers`. The result is docs/proofs.md.

list.json   which handlers, where they stand, what feeds them, and what their code says about them to a reader
listed      the list, and what is wrong with one
checkout    a repository at its commit, in a temporary folder
running     one proof, in a process of its own without network and credentials
judged      the verdict beside what a reader says
page        the table
"""
