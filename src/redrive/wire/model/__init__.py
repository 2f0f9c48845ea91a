"""What AWS's service models say: shapes, names, constraints."""
