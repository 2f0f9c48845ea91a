"""Who uses the simulated engine, and what they have set up."""
