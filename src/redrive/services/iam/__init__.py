"""AWS Identity and Access Management: roles, managed policies, and the decision whether a role may do something.

AWS documents it at https://docs.aws.amazon.com/IAM/latest/APIReference/welcome.html.
Left out on purpose: users, groups, access keys and instance profiles, because an account's own credentials may do
everything here; service-linked roles; when a role was last used. Our readings of AWS's rules stand in
docs/semantics/identity.md.
"""
