"""The user's code, and the process in which it runs."""
