"""Access control lists: canned lists, headers, documents, and what their grants allow.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/acl-overview.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import canonical_user
from redrive.services.s3.limits import GRANTS_MAX
from redrive.services.s3.model.errors import invalid_argument, invalid_request

_GROUPS = "http://acs.amazonaws.com/groups/"
ALL_USERS = f"{_GROUPS}global/AllUsers"
AUTHENTICATED_USERS = f"{_GROUPS}global/AuthenticatedUsers"
LOG_DELIVERY = f"{_GROUPS}s3/LogDelivery"
PUBLIC_GROUPS = frozenset({ALL_USERS, AUTHENTICATED_USERS})

GRANTS = "Grants"
"""The member of a stored object that has the grants of its own ACL."""

PRIVATE = "private"
OWNER_KEEPS = frozenset({PRIVATE, "bucket-owner-full-control"})
"""What a bucket without ACLs takes, because it changes nothing there."""

_PERMISSIONS = frozenset({"FULL_CONTROL", "READ", "READ_ACP", "WRITE", "WRITE_ACP"})
_ID = re.compile(r"[0-9a-f]{64}")
_HEADER_GRANT = re.compile(r'\s*(id|uri|emailAddress)\s*=\s*"?([^",]*)"?\s*', re.IGNORECASE)

_CANNED: Mapping[str, Sequence[tuple[str, str]]] = {
    PRIVATE: (),
    "public-read": ((ALL_USERS, "READ"),),
    "public-read-write": ((ALL_USERS, "READ"), (ALL_USERS, "WRITE")),
    "authenticated-read": ((AUTHENTICATED_USERS, "READ"),),
    "aws-exec-read": (),
    "bucket-owner-read": (),
    "bucket-owner-full-control": (),
    "log-delivery-write": ((LOG_DELIVERY, "WRITE"), (LOG_DELIVERY, "READ_ACP")),
}
_FOR_BUCKET_OWNER = {"bucket-owner-read": "READ", "bucket-owner-full-control": "FULL_CONTROL"}


@dataclass(frozen=True, slots=True)
class AclRequest:
    """The part of a request that gives an ACL: one canned list, or headers with grants, or a document."""

    canned: str | None = None
    document: Document | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def granted(self) -> Mapping[str, str]:
        """The headers with grants, by permission."""
        return {permission: text for permission, text in self.headers.items() if text}

    @property
    def is_empty(self) -> bool:
        """Whether the request says nothing about an ACL."""
        return self.canned is None and self.document is None and not self.granted

    @property
    def changes_nothing(self) -> bool:
        """Whether a bucket whose owner owns everything takes this ACL."""
        return self.is_empty or (self.canned in OWNER_KEEPS and self.document is None and not self.granted)


def acl_request(
    acl: str | None, document: Document | None = None, *, full: str | None, read: str | None, read_acp: str | None,
    write: str | None = None, write_acp: str | None = None,
) -> AclRequest:  # fmt: skip
    """The ACL of a request, from its parameters."""
    headers = {"FULL_CONTROL": full, "READ": read, "READ_ACP": read_acp, "WRITE": write, "WRITE_ACP": write_acp}
    return AclRequest(acl, document, headers)


def read_grants(asked: AclRequest, owner: str, bucket_owner: str) -> list[Document]:
    """The grants that a request asks for, on what the account `owner` owns in a bucket of `bucket_owner`.

    Errors: InvalidArgument; InvalidRequest (a canned list and grants); UnexpectedContent (a list in the body beside
    headers); MalformedACLError.
    """
    if asked.document is not None and (asked.canned is not None or asked.granted):
        raise ServiceError("UnexpectedContent", "This request does not support content", http_status=400)
    if asked.canned is not None and asked.granted:
        raise invalid_request("Specifying both Canned ACLs and Header Grants is not allowed")
    if asked.document is not None:
        return _of_document(asked.document, owner)
    if asked.granted:
        return [grant for permission, text in asked.granted.items() for grant in _of_header(permission, text)]
    return _of_canned(asked.canned or PRIVATE, owner, bucket_owner)


def owner_grant(account: str) -> Document:
    """The grant by which an account has its own."""
    return {"Grantee": {"ID": canonical_user(account), "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}


def is_public(grants: Sequence[Document]) -> bool:
    """Whether grants are for everyone, or for everyone who has an account."""
    return any(grant["Grantee"].get("URI") in PUBLIC_GROUPS for grant in grants)


def missing_acl() -> ServiceError:
    """The error for a request to set an ACL that has none."""
    members = {"MissingHeaderName": "x-amz-acl"}
    message = "Your request was missing a required header"
    return ServiceError("MissingSecurityHeader", message, http_status=400, members=members)


def not_supported() -> ServiceError:
    """The error for an ACL on a bucket whose owner owns everything."""
    return ServiceError("AccessControlListNotSupported", "The bucket does not allow ACLs", http_status=400)


def _of_canned(canned: str, owner: str, bucket_owner: str) -> list[Document]:
    if canned not in _CANNED:
        raise invalid_argument("", "x-amz-acl", canned)
    grants = [owner_grant(owner), *(_group(uri, permission) for uri, permission in _CANNED[canned])]
    permission = _FOR_BUCKET_OWNER.get(canned)
    if permission is not None and bucket_owner != owner:
        grants.append({**owner_grant(bucket_owner), "Permission": permission})
    return grants


def _of_header(permission: str, text: str) -> list[Document]:
    grants = []
    for part in text.split(","):
        match = _HEADER_GRANT.fullmatch(part)
        if match is None:
            raise invalid_argument("Argument format not recognized", _header_of(permission), text)
        kind, value = match[1].lower(), match[2]
        if kind == "emailaddress":
            raise _no_mail()
        grantee = {"Type": "Group", "URI": value} if kind == "uri" else {"Type": "CanonicalUser", "ID": value}
        grants.append({"Grantee": _checked(grantee), "Permission": permission})
    return grants


def _of_document(document: Document, owner: str) -> list[Document]:
    stated = (document.get("Owner") or {}).get("ID")
    grants = document.get("Grants")
    if grants is None or stated is None or len(grants) > GRANTS_MAX:
        raise malformed_acl()
    if stated != canonical_user(owner):
        raise ServiceError("AccessDenied", "Access Denied", http_status=403)
    return [_of_grant(grant) for grant in grants]


def _of_grant(grant: Document) -> Document:
    grantee, permission = grant.get("Grantee"), grant.get("Permission")
    if not grantee or permission not in _PERMISSIONS:
        raise malformed_acl()
    match grantee.get("Type"):
        case "CanonicalUser" if grantee.get("ID"):
            return {"Grantee": _checked({"Type": "CanonicalUser", "ID": grantee["ID"]}), "Permission": permission}
        case "Group" if grantee.get("URI"):
            return {"Grantee": _checked({"Type": "Group", "URI": grantee["URI"]}), "Permission": permission}
        case "AmazonCustomerByEmail":
            raise _no_mail()
        case _:
            raise malformed_acl()


def _checked(grantee: Document) -> Document:
    if grantee["Type"] == "Group":
        if grantee["URI"] not in {*PUBLIC_GROUPS, LOG_DELIVERY}:
            raise invalid_argument("Invalid group uri", "uri", grantee["URI"])
    elif not _ID.fullmatch(grantee["ID"]):
        raise invalid_argument("Invalid id", "id", grantee["ID"])
    return grantee


def malformed_acl() -> ServiceError:
    """The error for an ACL's document that S3's schema does not describe."""
    message = "The XML you provided was not well-formed or did not validate against our published schema"
    return ServiceError("MalformedACLError", message, http_status=400)


def _no_mail() -> ServiceError:
    message = "The specified method is not allowed against this resource."
    return ServiceError("MethodNotAllowed", message, http_status=405)


def _group(uri: str, permission: str) -> Document:
    return {"Grantee": {"Type": "Group", "URI": uri}, "Permission": permission}


def _header_of(permission: str) -> str:
    return "x-amz-grant-" + permission.lower().replace("_", "-")
