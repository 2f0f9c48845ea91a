"""The effects that a history leaves behind, and their contents."""
