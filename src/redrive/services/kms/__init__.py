"""KMS: keys, aliases and grants, and the cryptography with them.

All secrets of keys follow from the store's secret, or are wrapped by it. Other services encrypt what they hold at rest
by this service's operations. Imported key material, custom key stores and replicas in other regions are not served.
Source: https://docs.aws.amazon.com/kms/latest/APIReference/Welcome.html
"""
