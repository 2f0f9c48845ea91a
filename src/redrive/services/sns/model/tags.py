"""Tags of topics.

Source: https://docs.aws.amazon.com/sns/latest/dg/sns-tags.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.sns.limits import TAGS_MAX
from redrive.services.sns.model.requests import invalid


def read_tags(present: Mapping[str, str], given: Sequence[Document]) -> dict[str, str]:
    """The tags after a request adds some. A tag with an existing key replaces the old tag.

    Errors: InvalidParameterException (a repeated key, or one that is AWS's); TagLimitExceededException.
    """
    added = {str(tag["Key"]): str(tag["Value"]) for tag in given}
    if len(added) != len(given):
        raise invalid("Duplicated keys are not allowed.")
    if any(key.lower().startswith("aws:") for key in added):
        raise invalid("Tag keys cannot begin with aws:")
    tags = {**present, **added}
    if len(tags) > TAGS_MAX:
        raise ServiceError(
            "TagLimitExceededException", "Could not complete request: tag quota of per resource exceeded"
        )
    return tags
