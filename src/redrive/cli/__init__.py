"""The command line: one module per noun. Commands call servers and operations, and never read tables."""
