"""The command line: one module per noun. It talks to servers and operations, never to tables."""
