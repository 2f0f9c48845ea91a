"""AWS Identity and Access Management: roles, users, access keys, policies, and decisions about permissions.

AWS documents it at https://docs.aws.amazon.com/IAM/latest/APIReference/welcome.html.
Left out on purpose: passwords, MFA devices, OIDC and SAML providers; access keys of the root, which the server is
given when it starts; service-linked roles; when a role was last used. Our readings of AWS's rules stand in
docs/semantics/identity.md.
"""
