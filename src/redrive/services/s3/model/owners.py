"""Owners of objects: who they are, and how S3's answers name them.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import canonical_user
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.policies import OWNER_PREFERRED, has_acls, ownership_of

_GIVES_AWAY = "bucket-owner-full-control"


def owner_of(account: str) -> Document:
    """The account that owns an object, by its canonical user id. S3 shows no names of owners any more."""
    return {"ID": canonical_user(account)}


def new_owner(bucket: Bucket, writer: str, params: Document) -> str:
    """The account that will own what an account writes into a bucket, with the parameters of the write."""
    if not has_acls(bucket):
        return bucket.account
    is_given = ownership_of(bucket) == OWNER_PREFERRED and params.get("acl") == _GIVES_AWAY
    return bucket.account if is_given else writer
