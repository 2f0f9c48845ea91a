"""What the server's own surface takes and tells, without a transaction."""
