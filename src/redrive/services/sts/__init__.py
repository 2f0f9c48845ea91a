"""AWS Security Token Service: who am I, and sessions of roles.

AWS documents it at https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html.
Left out on purpose: federation (SAML, web identity, GetFederationToken), and of AssumeRole session policies, session
tags and source identities, which are refused in clear words. Our readings of AWS's rules stand in
docs/semantics/identity.md.
"""
