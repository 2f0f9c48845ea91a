"""The documents of CloudWatch and its pure rules; nothing here uses a transaction."""
