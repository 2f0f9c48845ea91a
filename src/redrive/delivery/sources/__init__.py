"""What every source of deliveries needs: its port, targets, roles, error classes, letters."""
