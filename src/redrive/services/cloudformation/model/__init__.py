"""The stored documents of CloudFormation and its pure rules; nothing here uses a transaction."""
