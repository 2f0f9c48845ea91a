"""Buckets: their stored form, and the errors about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope

BUCKETS = Scope("*", "global")
"""Where all buckets are stored: the name of a bucket is unique over all accounts and Regions."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. `bucket_id` owns the rows of its objects; a bucket that is made again has another.

    `versioning` is empty, `Enabled` or `Suspended`. `settings` has what the sub-resources say, by the names of
    S3's XML documents (`CORSConfiguration`, `NotificationConfiguration`), in AWS's shape.
    """

    KIND: ClassVar[str] = "s3.bucket"

    name: str
    account: str
    region: str
    created_at: Instant
    bucket_id: str
    versioning: str = ""
    policy: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Document] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The ARN, which names neither account nor Region."""
        return bucket_arn(self.name)

    @property
    def scope(self) -> Scope:
        """The account and the Region that the bucket belongs to."""
        return Scope(self.account, self.region)


def bucket_arn(name: str) -> str:
    """The ARN of a bucket, or of an object: `bucket/key`."""
    return str(Arn("s3", "", "", name))


def no_such_bucket(name: str) -> ServiceError:
    """The error for a bucket that does not exist."""
    message = "The specified bucket does not exist"
    return ServiceError("NoSuchBucket", message, http_status=404, members={"BucketName": name})
