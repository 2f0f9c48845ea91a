"""Operations on objects that buckets of this engine do not take, each with the reason."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.store.api import Transaction


@operation("RenameObject")
def rename_object(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, rename_source: str,  # noqa: ARG001
    destination_if_match: str | None = None, destination_if_none_match: str | None = None,  # noqa: ARG001
    destination_if_modified_since: Instant | None = None,  # noqa: ARG001
    destination_if_unmodified_since: Instant | None = None,  # noqa: ARG001
    source_if_match: str | None = None, source_if_none_match: str | None = None,  # noqa: ARG001
    source_if_modified_since: Instant | None = None, source_if_unmodified_since: Instant | None = None,  # noqa: ARG001
    client_token: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Refuse to rename: only directory buckets do.

    Errors: NoSuchBucket; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_RenameObject.html
    """
    bucket_of(tx, caller, bucket, "s3:PutObject", key=key)
    raise _refused("General purpose buckets rename no objects: copy the object, then delete its source.")


@operation("GetObjectTorrent")
def get_object_torrent(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    request_payer: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Refuse to make a torrent: S3 has no longer made one for new accounts since 2022.

    Errors: NoSuchBucket; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectTorrent.html
    """
    bucket_of(tx, caller, bucket, "s3:GetObjectTorrent", key=key, expected_owner=expected_bucket_owner)
    raise _refused("S3 gives no torrents of objects any more: use GetObject.")


def _refused(message: str) -> ServiceError:
    return ServiceError("NotImplemented", message, http_status=501)
