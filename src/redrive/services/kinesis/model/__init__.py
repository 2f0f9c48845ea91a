"""The stored documents of Kinesis and its pure rules; nothing here uses a transaction."""
