"""The engine: services, workers, store and invoker, wired together. `build.py` is the composition root."""
