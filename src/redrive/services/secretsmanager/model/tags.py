"""Tags of secrets.

Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_TagResource.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.model.requests import invalid_parameter

_AWS_PREFIX = "aws:"


def read_tags(given: Sequence[Document]) -> dict[str, str]:
    """The tags of a request. AWS's model requires neither member. Errors: InvalidParameterException."""
    if any(tag.get("Key") is None or tag.get("Value") is None for tag in given):
        raise invalid_parameter("Each tag must have a key and a value.")
    return {str(tag["Key"]): str(tag["Value"]) for tag in given}


def merged_tags(present: Mapping[str, str], given: Sequence[Document]) -> dict[str, str]:
    """The tags after a request adds some. Errors: InvalidParameterException."""
    added = read_tags(given)
    if len(added) != len(given):
        raise invalid_parameter("Tag keys must be unique.")
    if any(key.lower().startswith(_AWS_PREFIX) and not key.startswith("aws:cloudformation:") for key in added):
        raise invalid_parameter("Tag keys must not begin with aws:.")
    tags = {**present, **added}
    if len(tags) > limits.TAGS_MAX:
        raise invalid_parameter(f"A secret can have no more than {limits.TAGS_MAX} tags.")
    return tags
