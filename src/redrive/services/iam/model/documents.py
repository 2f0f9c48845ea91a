"""Policy documents: parse them, check their size, encode them for answers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from urllib.parse import quote

from redrive.core.errors import ServiceError
from redrive.languages.iam import CURRENT_VERSION, Policy, PolicyError, PolicyKind, parse_policy
from redrive.services.iam import limits
from redrive.services.iam.model.requests import over_quota


@functools.lru_cache(maxsize=limits.PARSED_DOCUMENTS_MAX)
def parsed(document: str, kind: PolicyKind = PolicyKind.IDENTITY) -> Policy:
    """Return a parsed document. The cache parses the same text only once. Errors: PolicyError."""
    return parse_policy(document, kind)


def encoded(document: str) -> str:
    """Percent-encode a document by RFC 3986, as IAM does in answers. SDKs decode it again."""
    return quote(document, safe="")


def check_trust(document: str) -> None:
    """Refuse an invalid trust policy of a role. Errors: MalformedPolicyDocumentException; LimitExceededException."""
    _check(document, PolicyKind.TRUST)
    if _size(document) > limits.TRUST_POLICY_CHARACTERS_MAX:
        raise over_quota("ACLSizePerRole", limits.TRUST_POLICY_CHARACTERS_MAX)


def check_managed(document: str) -> None:
    """Refuse an invalid managed policy. Errors: MalformedPolicyDocumentException; LimitExceededException."""
    _check(document, PolicyKind.IDENTITY)
    if parsed(document).version != CURRENT_VERSION:
        message = f"Policy document must be version {CURRENT_VERSION} or greater."
        raise ServiceError("MalformedPolicyDocumentException", message)
    if _size(document) > limits.MANAGED_POLICY_CHARACTERS_MAX:
        raise over_quota("PolicySize", limits.MANAGED_POLICY_CHARACTERS_MAX)


def check_inline(document: str, everything: Mapping[str, str], *, owner: str, characters_max: int) -> None:
    """Refuse an invalid inline policy for `role NAME` or `user NAME`, or one that makes all of them together too long.

    Errors: MalformedPolicyDocumentException; LimitExceededException.
    """
    _check(document, PolicyKind.IDENTITY)
    if sum(map(_size, everything.values())) > characters_max:
        raise ServiceError(
            "LimitExceededException", f"Maximum policy size of {characters_max} bytes exceeded for {owner}"
        )


def _check(document: str, kind: PolicyKind) -> None:
    try:
        parsed(document, kind)
    except PolicyError as error:
        raise ServiceError("MalformedPolicyDocumentException", error.message) from None


def _size(document: str) -> int:
    """Count the characters of a document without white space, as quotas count them."""
    return sum(map(len, document.split()))
