"""The simulated machines: nodes over one database, their clocks, and the clients that they serve."""
