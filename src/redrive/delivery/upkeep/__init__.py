"""What happens to whatever ages or is counted."""
