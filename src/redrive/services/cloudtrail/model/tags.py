"""Tags of trails.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_AddTags.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudtrail.limits import TAGS_MAX


def merged_tags(present: Mapping[str, str], given: Sequence[Document] | None) -> dict[str, str]:
    """The tags after a request adds some. Errors: TagsLimitExceededException; InvalidTagParameterException."""
    added = {str(tag["Key"]): str(tag.get("Value", "")) for tag in given or ()}
    if len(added) != len(given or ()):
        raise ServiceError("InvalidTagParameterException", "Tag keys must be unique.")
    tags = {**present, **added}
    if len(tags) > TAGS_MAX:
        raise ServiceError("TagsLimitExceededException", f"A trail can have no more than {TAGS_MAX} tags.")
    return tags
