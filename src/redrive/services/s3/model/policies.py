"""What decides about a bucket: its policy, its ACL and its block of public access, as one policy.

Grants of an ACL have the same rules as Allow statements of the bucket's policy: they are enough for nobody in another
account whom that account's own policies do not allow the same. So they are written as statements, and languages/iam
decides once.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-s3-evaluates-access-control.html and
https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from redrive.core.documents import Document
from redrive.languages.iam import Effect, Policy, PolicyError, PolicyKind, Statement, parse_policy
from redrive.services.s3.model.acl import ALL_USERS, AUTHENTICATED_USERS, PUBLIC_GROUPS
from redrive.services.s3.model.bucket import Bucket, bucket_arn

POLICIES_KEPT = 1_024
PUBLIC_ACCESS: Final = "PublicAccessBlockConfiguration"
OWNERSHIP: Final = "OwnershipControls"
ACL: Final = "AccessControlPolicy"
OWNER_ENFORCED: Final = "BucketOwnerEnforced"
OWNER_PREFERRED = "BucketOwnerPreferred"
OWNERSHIPS = (OWNER_ENFORCED, OWNER_PREFERRED, "ObjectWriter")
BLOCKS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")

_FIXING = frozenset(
    "aws:sourcearn aws:sourceaccount aws:sourceowner aws:sourceorgid aws:sourcevpc aws:sourcevpce aws:principalorgid "
    "aws:principalorgpaths aws:principalarn aws:principalaccount aws:userid aws:viaawsservice s3:dataaccesspointarn "
    "s3:dataaccesspointaccount s3:x-amz-server-side-encryption-aws-kms-key-id".split()
)
"""Condition keys that, with a value without wildcards, make a statement for everyone one that is not public."""

_EQUALS = frozenset("StringEquals StringEqualsIgnoreCase StringLike ArnEquals ArnLike".split())
_NARROWEST_PUBLIC = {4: 8, 6: 32}
"""Networks of this many bits or fewer count as everyone."""

_BUCKET_READS = ("ListBucket", "ListBucketVersions", "ListBucketMultipartUploads")
_ON_BUCKET: Mapping[str, Sequence[str]] = {
    "READ": _BUCKET_READS,
    "READ_ACP": ("GetBucketAcl",),
    "WRITE_ACP": ("PutBucketAcl",),
}
_ON_BUCKETS_OBJECTS: Mapping[str, Sequence[str]] = {"WRITE": ("PutObject", "DeleteObject")}
_ON_OBJECT: Mapping[str, Sequence[str]] = {
    "READ": ("GetObject", "GetObjectVersion", "GetObjectTorrent"),
    "READ_ACP": ("GetObjectAcl", "GetObjectVersionAcl"),
    "WRITE_ACP": ("PutObjectAcl", "PutObjectVersionAcl"),
}


def blocks(bucket: Bucket, what: str) -> bool:
    """Whether a bucket's block of public access has `BlockPublicAcls`, `IgnorePublicAcls` and so on."""
    return bool(bucket.settings.get(PUBLIC_ACCESS, {}).get(what))


def ownership_of(bucket: Bucket) -> str:
    """Who owns the objects of a bucket. Without ownership controls, who writes an object owns it."""
    rules = bucket.settings.get(OWNERSHIP, {}).get("Rules") or [{}]
    return str(rules[0].get("ObjectOwnership", "ObjectWriter"))


def has_acls(bucket: Bucket) -> bool:
    """Whether ACLs decide in a bucket."""
    return ownership_of(bucket) != OWNER_ENFORCED


def grants_of(bucket: Bucket) -> list[Document]:
    """The grants of a bucket's ACL that decide."""
    if not has_acls(bucket):
        return []
    grants: list[Document] = bucket.settings.get(ACL, {}).get("Grants", [])
    return effective_grants(bucket, grants)


def effective_grants(bucket: Bucket, grants: Sequence[Document]) -> list[Document]:
    """Grants without those for everyone, if the bucket ignores these."""
    if not blocks(bucket, "IgnorePublicAcls"):
        return list(grants)
    return [grant for grant in grants if grant["Grantee"].get("URI") not in PUBLIC_GROUPS]


def deciding_policy(bucket: Bucket, key: str | None = None, object_grants: Sequence[Document] = ()) -> str:
    """The policy that decides about a bucket, or about an object whose ACL has `object_grants`; empty if none does."""
    if not bucket.policy and ACL not in bucket.settings and not object_grants:
        return ""
    added = [one for grant in grants_of(bucket) for one in _of_bucket_grant(bucket.name, grant)]
    if key is not None and has_acls(bucket):
        arn = bucket_arn(f"{bucket.name}/{key}")
        for grant in effective_grants(bucket, object_grants):
            added += _statements(grant, _ON_OBJECT, arn)
    if blocks(bucket, "RestrictPublicBuckets") and bucket.policy and is_public(bucket.policy):
        added.append(_only_owner(bucket))
    return _joined(bucket.policy, json.dumps(added, sort_keys=True)) if added else bucket.policy


@functools.lru_cache(maxsize=POLICIES_KEPT)
def is_public(policy: str) -> bool:
    """Whether a policy lets everyone do something. An Allow for everyone is not public if a condition fixes who."""
    parsed = _parsed(policy)
    return parsed is not None and any(
        statement.effect is Effect.ALLOW and _is_for_everyone(statement) for statement in parsed.statements
    )


def _is_for_everyone(statement: Statement) -> bool:
    principals = statement.principals
    if principals is None or not (principals.negated or "*" in principals.aws):
        return False
    return not any(
        (condition.operator in _EQUALS and not condition.if_exists and condition.key.lower() in _FIXING
        and not any(character in value for value in condition.values for character in "*?$"))
        or (condition.operator == "IpAddress" and condition.key.lower() == "aws:sourceip"
            and all(map(_is_narrow, condition.values)))
        for condition in statement.conditions
    )  # fmt: skip


def _is_narrow(network: str) -> bool:
    address, _, bits = network.partition("/")
    return not bits or int(bits) > _NARROWEST_PUBLIC[6 if ":" in address else 4]


def _parsed(policy: str) -> Policy | None:
    try:
        return parse_policy(policy, PolicyKind.RESOURCE) if policy else None
    except PolicyError:
        return None


@functools.lru_cache(maxsize=POLICIES_KEPT)
def _joined(policy: str, added: str) -> str:
    """A policy with more statements, which come from ACLs. They have no variables, so the version may stay."""
    document = json.loads(policy) if policy else {"Version": "2012-10-17", "Statement": []}
    written = document["Statement"]
    statements = written if isinstance(written, list) else [written]
    return json.dumps({**document, "Statement": [*statements, *json.loads(added)]})


def _of_bucket_grant(bucket: str, grant: Document) -> Iterable[Document]:
    yield from _statements(grant, _ON_BUCKET, bucket_arn(bucket))
    yield from _statements(grant, _ON_BUCKETS_OBJECTS, bucket_arn(f"{bucket}/*"))


def _statements(grant: Document, actions: Mapping[str, Sequence[str]], resource: str) -> list[Document]:
    """The statements that say what a grant says."""
    permission, grantee = grant["Permission"], grant["Grantee"]
    allowed = [
        f"s3:{action}" for name, names in actions.items() if permission in (name, "FULL_CONTROL") for action in names
    ]
    if not allowed:
        return []
    statement: Document = {"Effect": "Allow", "Action": allowed, "Resource": resource}
    match grantee.get("URI"):
        case None:
            return [{**statement, "Principal": {"CanonicalUser": grantee["ID"]}}]
        case uri if uri == ALL_USERS:
            return [{**statement, "Principal": "*"}]
        case uri if uri == AUTHENTICATED_USERS:
            known = {"StringNotEquals": {"aws:PrincipalType": "Anonymous"}}
            return [{**statement, "Principal": "*", "Condition": known}]
        case _:
            return [{**statement, "Principal": {"Service": "logging.s3.amazonaws.com"}}]


def _only_owner(bucket: Bucket) -> Document:
    """The Deny that keeps a public policy from those outside of the bucket's account. AWS's services may come in."""
    return {
        "Effect": "Deny", "Principal": "*", "Action": "s3:*",
        "Resource": [bucket.arn, f"{bucket.arn}/*"],
        "Condition": {
            "StringNotEquals": {"aws:PrincipalAccount": bucket.account},
            "Bool": {"aws:PrincipalIsAWSService": "false"},
        },
    }  # fmt: skip
