"""The history of deliveries, as facts."""
