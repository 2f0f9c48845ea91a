"""Public parameters: the ids of machine images that AWS publishes, which many templates look up.

redrive has no machines, so the ids are made up. They have the form of ids, and every name has always the same id.
Source: https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-public-parameters-ami.html
"""

from __future__ import annotations

import hashlib
import re

PUBLIC_PATH = "/aws/service/"
_IMAGE = re.compile(
    r"/aws/service/(?:ami-(?:amazon-linux|windows)-latest/[\w.-]+|canonical/(?:[\w.-]+/)+ami-id"
    r"|(?:ecs|eks)/optimized-ami/(?:[\w.-]+/)+image_id|bottlerocket/(?:[\w.-]+/)+image_id)"
)
_ID_DIGITS = 17


def public_value(key: str) -> str | None:
    """Return the value of a public parameter; None if there is no such parameter here."""
    if _IMAGE.fullmatch(key) is None:
        return None
    return f"ami-{hashlib.sha256(key.encode()).hexdigest()[:_ID_DIGITS]}"
