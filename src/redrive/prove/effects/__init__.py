"""Effects that a history leaves behind, and what stands in them."""
