"""The operations on the tags of trails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudtrail.model.tags import merged_tags
from redrive.services.cloudtrail.trails import find_trail, own_trail, refuse_token
from redrive.store.api import Transaction


@operation("AddTags")
def add_tags(tx: Transaction, caller: Caller, *, resource_id: str, tags_list: Sequence[Document]) -> Document:
    """Add tags to a trail, which is named by its ARN. A tag with an existing key replaces the old tag.

    Errors: TrailNotFoundException; CloudTrailARNInvalidException; TagsLimitExceededException;
    InvalidTagParameterException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_AddTags.html
    """
    home, trail = own_trail(tx, caller, _arn(resource_id), "cloudtrail:AddTags")
    tx.resources.put(home, replace(trail, tags=merged_tags(trail.tags, tags_list)))
    return {}


@operation("RemoveTags")
def remove_tags(tx: Transaction, caller: Caller, *, resource_id: str, tags_list: Sequence[Document]) -> Document:
    """Remove tags from a trail.

    Errors: TrailNotFoundException; CloudTrailARNInvalidException.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_RemoveTags.html
    """
    home, trail = own_trail(tx, caller, _arn(resource_id), "cloudtrail:RemoveTags")
    removed = {tag["Key"] for tag in tags_list}
    left = {key: value for key, value in trail.tags.items() if key not in removed}
    tx.resources.put(home, replace(trail, tags=left))
    return {}


@operation("ListTags")
def list_tags(
    tx: Transaction, caller: Caller, *, resource_id_list: Sequence[str], next_token: str | None = None
) -> Document:
    """Show the tags of trails.

    Errors: TrailNotFoundException; CloudTrailARNInvalidException; InvalidTokenException, because no page has a token.
    Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_ListTags.html
    """
    refuse_token(next_token)
    shown: list[Document] = []
    for arn in resource_id_list:
        _, trail = find_trail(tx, caller, _arn(arn), "cloudtrail:ListTags")
        tags = [{"Key": key, "Value": trail.tags[key]} for key in sorted(trail.tags)]
        shown.append({"ResourceId": arn, "TagsList": tags})
    return {"ResourceTagList": shown}


def _arn(written: str) -> str:
    """The ARN itself. Errors: CloudTrailARNInvalidException for another text."""
    if not written.startswith("arn:"):
        raise ServiceError("CloudTrailARNInvalidException", f"{written} is not an ARN of a trail.")
    return written
