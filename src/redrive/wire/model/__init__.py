"""AWS's service models: shapes, names, constraints."""
