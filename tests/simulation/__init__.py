"""The engine in bad weather: swarms of seeds, scenarios named by their hazard, and planted defects that must be found."""
