"""All histories of a handler up to so many faults, and the clean run before them."""
