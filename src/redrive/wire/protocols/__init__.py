"""The protocols of AWS: how each encodes requests, answers and errors."""
