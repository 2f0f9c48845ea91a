"""The user's code and the process that it runs in."""
