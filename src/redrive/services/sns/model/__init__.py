"""What SNS stores, and its rules. No transaction, no clock."""
