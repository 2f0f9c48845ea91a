"""The engine in bad weather: swarms of seeds, scenarios named by their hazard, planted defects that must be found."""
