"""The due work of SNS."""
