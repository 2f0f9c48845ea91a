"""What happens in CloudFormation by itself."""
