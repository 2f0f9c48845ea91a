"""Secrets Manager: secrets, their versions and stages, and their rotation by functions.

Values are stored encrypted under keys of KMS. Replication to other regions is refused by name.
Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/intro.html
"""
