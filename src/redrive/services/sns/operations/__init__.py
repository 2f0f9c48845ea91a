"""The operations of SNS."""
