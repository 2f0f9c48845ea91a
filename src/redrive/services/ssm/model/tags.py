"""Tags of parameters.

Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AddTagsToResource.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.ssm import limits
from redrive.services.ssm.model.requests import invalid

_AWS_PREFIX = "aws:"


def merged_tags(present: Mapping[str, str], given: Sequence[Document]) -> dict[str, str]:
    """The tags after a request adds some. Errors: ValidationException; TooManyTagsError."""
    added = {str(tag["Key"]): str(tag["Value"]) for tag in given}
    if len(added) != len(given):
        raise invalid("Tag keys must be unique.")
    if any(key.lower().startswith(_AWS_PREFIX) and not key.startswith("aws:cloudformation:") for key in added):
        raise invalid("Tag keys must not begin with aws:.")
    tags = {**present, **added}
    if len(tags) > limits.TAGS_MAX:
        raise ServiceError("TooManyTagsError", f"A parameter can have no more than {limits.TAGS_MAX} tags.")
    return tags
