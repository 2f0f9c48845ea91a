"""What happens in Lambda by itself."""
