"""The Lambda Runtime API, and our own runtimes, which run handlers."""
