"""The operations of CloudFormation and their shared functions, all on a transaction."""
