"""The users of the simulated engine, and what they have created."""
