"""Converts names between AWS's spelling and Python's."""

from __future__ import annotations

import keyword
import re

_PLURAL_RUN = re.compile(r"([A-Z]{2,})s(?=[A-Z]|$)")
_RUN_THEN_WORD = re.compile(r"([A-Z]+)([A-Z][a-z])")
_WORD_THEN_CAPITAL = re.compile(r"([a-z0-9])([A-Z])")


def snake_case(member: str) -> str:
    """The name of the keyword argument for a member: `QueueUrl` → `queue_url`, `KMSKeyArn` → `kms_key_arn`.

    Consecutive capitals are one word (`SSESpecification` → `sse_specification`, `NotificationARNs` →
    `notification_arns`); a keyword of Python gets an underscore (`from` → `from_`).
    """
    text = _PLURAL_RUN.sub(lambda match: match[1].capitalize() + "s", member)
    text = _RUN_THEN_WORD.sub(r"\1_\2", text)
    text = _WORD_THEN_CAPITAL.sub(r"\1_\2", text).lower()
    return f"{text}_" if keyword.iskeyword(text) else text
