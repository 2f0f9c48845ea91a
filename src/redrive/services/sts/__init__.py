"""AWS Security Token Service: the caller's identity, and sessions of roles.

AWS documents it at https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html. Left out on purpose: federation
(SAML, web identity, GetFederationToken). AssumeRole refuses session policies, session tags and source identities with a
clear message. docs/semantics/identity.md lists AWS's rules as we read them.
"""
