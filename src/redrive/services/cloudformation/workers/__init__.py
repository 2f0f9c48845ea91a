"""The work that CloudFormation does without a request."""
