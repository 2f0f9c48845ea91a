"""The files of a store: opened, examined, closed, copied."""
