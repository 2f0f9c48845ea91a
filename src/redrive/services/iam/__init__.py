"""AWS Identity and Access Management: roles, users, access keys, policies, and decisions about permissions.

AWS documents it at https://docs.aws.amazon.com/IAM/latest/APIReference/welcome.html. Left out on purpose: groups,
passwords, MFA devices and instance profiles; access keys of the root, which the server gets at its start;
service-linked roles; the last use of a role. docs/semantics/identity.md lists AWS's rules as we read them.
"""
