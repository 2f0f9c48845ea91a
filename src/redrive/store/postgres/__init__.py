"""The store in PostgreSQL: any number of servers use it at the same time."""
