"""The simulated machines: nodes over one database, their clocks, and their clients."""
