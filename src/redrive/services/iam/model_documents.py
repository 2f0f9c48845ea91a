"""Policy documents: read, measured, and written into answers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from urllib.parse import quote

from redrive.core.errors import ServiceError
from redrive.languages.iam import Policy, PolicyError, PolicyKind, parse_policy
from redrive.services.iam import limits
from redrive.services.iam.model_requests import over_quota


@functools.lru_cache(maxsize=limits.PARSED_DOCUMENTS_MAX)
def parsed(document: str, kind: PolicyKind = PolicyKind.IDENTITY) -> Policy:
    """A document, ready to be evaluated; the same text is read once. Errors: PolicyError."""
    return parse_policy(document, kind)


def encoded(document: str) -> str:
    """A document as IAM puts it into answers: percent-encoded after RFC 3986. SDKs decode it again."""
    return quote(document, safe="")


def check_trust(document: str) -> None:
    """Refuse what cannot be a role's trust policy. Errors: MalformedPolicyDocumentException; LimitExceededException."""
    _check(document, PolicyKind.TRUST)
    if _size(document) > limits.TRUST_POLICY_CHARACTERS_MAX:
        raise over_quota("ACLSizePerRole", limits.TRUST_POLICY_CHARACTERS_MAX)


def check_managed(document: str) -> None:
    """Refuse what cannot be a managed policy. Errors: MalformedPolicyDocumentException; LimitExceededException."""
    _check(document, PolicyKind.IDENTITY)
    if _size(document) > limits.MANAGED_POLICY_CHARACTERS_MAX:
        raise over_quota("PolicySize", limits.MANAGED_POLICY_CHARACTERS_MAX)


def check_inline(document: str, all_of_role: Mapping[str, str], role_name: str) -> None:
    """Refuse a document that cannot be a role's, or with which the role's inline policies grow too long together.

    Errors: MalformedPolicyDocumentException; LimitExceededException.
    """
    _check(document, PolicyKind.IDENTITY)
    if sum(map(_size, all_of_role.values())) > limits.INLINE_POLICIES_CHARACTERS_MAX:
        raise ServiceError(
            "LimitExceededException",
            f"Maximum policy size of {limits.INLINE_POLICIES_CHARACTERS_MAX} bytes exceeded for role {role_name}",
        )


def _check(document: str, kind: PolicyKind) -> None:
    try:
        parsed(document, kind)
    except PolicyError as error:
        raise ServiceError("MalformedPolicyDocumentException", error.message) from None


def _size(document: str) -> int:
    """Characters that count towards a quota: white space does not."""
    return sum(map(len, document.split()))
