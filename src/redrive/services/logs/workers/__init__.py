"""The due work of CloudWatch Logs."""
