"""The store of many nodes: PostgreSQL, reached through libpq's pipeline mode. Needs the extra `redrive[postgres]`."""
