"""IAM policies: parses them, decides requests by them, and words refusals as AWS does.

Pure: documents and requests in, decisions out. It must not know roles, sessions or stores; the services pass those.
"""

from __future__ import annotations

from redrive.languages.iam.actions import actions_of, denied_code, prefix_of
from redrive.languages.iam.errors import PolicyError
from redrive.languages.iam.evaluate import (
    Allowed,
    Decision,
    ExplicitDeny,
    ImplicitDeny,
    PolicySource,
    decide,
    may_somewhere,
)
from redrive.languages.iam.managed import ManagedPolicy, is_unknown, managed_policies, unknown_policy, warning_of
from redrive.languages.iam.messages import denial_message
from redrive.languages.iam.model import CURRENT_VERSION, Effect, Policy, PolicyKind, Statement
from redrive.languages.iam.parse import parse_policy
from redrive.languages.iam.request import (
    AccessRequest,
    Context,
    PrincipalInfo,
    account_of,
    keys_of_tags,
    passed_to,
    request_tags,
    resource_tags,
)

__all__ = [
    "CURRENT_VERSION",
    "AccessRequest",
    "Allowed",
    "Context",
    "Decision",
    "Effect",
    "ExplicitDeny",
    "ImplicitDeny",
    "ManagedPolicy",
    "Policy",
    "PolicyError",
    "PolicyKind",
    "PolicySource",
    "PrincipalInfo",
    "Statement",
    "account_of",
    "actions_of",
    "decide",
    "denial_message",
    "denied_code",
    "is_unknown",
    "keys_of_tags",
    "managed_policies",
    "may_somewhere",
    "parse_policy",
    "passed_to",
    "prefix_of",
    "request_tags",
    "resource_tags",
    "unknown_policy",
    "warning_of",
]
