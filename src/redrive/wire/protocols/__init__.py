"""The protocols of AWS: how each spells requests, answers and errors."""
