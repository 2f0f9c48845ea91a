"""What every source of deliveries needs: its port, targets, roles, error classification, letters."""
