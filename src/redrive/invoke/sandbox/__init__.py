"""Where function code runs: processes with bounds, kept warm, ended together."""
