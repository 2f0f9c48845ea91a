"""AWS's message for a denied request.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
"""

from __future__ import annotations

from typing import assert_never

from redrive.languages.iam.evaluate import ExplicitDeny, ImplicitDeny, PolicySource


def denial_message(principal_arn: str, action: str, resource: str, decision: ImplicitDeny | ExplicitDeny) -> str:
    """AWS's message for a denied request; an empty resource is left out."""
    place = f" on resource: {resource}" if resource else ""
    return f"User: {principal_arn} is not authorized to perform: {action}{place} {_reason(action, decision)}"


def _reason(action: str, decision: ImplicitDeny | ExplicitDeny) -> str:
    match decision:
        case ImplicitDeny(missing):
            return f"because no {missing.value} allows the {action} action"
        case ExplicitDeny(_, source):
            return f"with an explicit deny in {_ARTICLES[source]} {source.value}"
    assert_never(decision)


_ARTICLES = {
    PolicySource.IDENTITY: "an",
    PolicySource.RESOURCE: "a",
    PolicySource.BOUNDARY: "a",
    PolicySource.TRUST: "the",
}
