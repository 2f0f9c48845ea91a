"""Tags of queues: which tags are valid."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.services.sqs import limits
from redrive.services.sqs.model.requests import invalid_parameter


def check_tags(tags: Mapping[str, str]) -> None:
    """Refuse tags that are too long, or whose key is reserved for AWS. Errors: InvalidParameterValueException."""
    for key, value in tags.items():
        if not 1 <= len(key) <= limits.TAG_KEY_LENGTH_MAX:
            raise invalid_parameter("Tag keys must be between 1 and 128 characters in length.")
        if len(value) > limits.TAG_VALUE_LENGTH_MAX:
            raise invalid_parameter("Tag values must be between 0 and 256 characters in length.")
        if key.lower().startswith("aws:"):
            raise invalid_parameter(f"Tag key {key} is reserved: keys that begin with aws: belong to AWS.")
