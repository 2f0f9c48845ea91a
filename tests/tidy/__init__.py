"""The style that must not rot, as tests over the text of the source.

A rule is a function from a file to its findings. Each is run over the tree, and over planted violations: a
rule that cannot fail guards nothing. What a rule lets pass stands in a table beside it, with the reason.
"""
