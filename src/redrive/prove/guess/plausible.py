"""Plausible values for the members of botocore's shapes: by their names, and by the words of their enums.

An answer is that of a service where all is well: states are those in which a loop that waits for them ends, nothing
has failed, and there is no further page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from botocore.model import Shape

MORE = re.compile(
    r"(?i)^(next|.*(page|continuation|pagination)token$|marker$|is_?truncated|has_?more|last_?evaluated|cursor)"
)
"""Members that say that there are further pages."""
FAILED = re.compile(
    r"(?i)^(errors?|failures?|invalid|unprocessed|unmatched|notfound|missing|warnings?|rejected|rejection|skipped)"
    r"|(error|errors|failure|failures|failed|warnings?|exceptions?)$|(error|failure)_?(code|details?|info|messages?|reasons?|type)"
    r"|^failed(?!.*count$)|^status_?(message|reason|code_?message)$|^functionerror$"
)  # fmt: skip
"""Members that say that something has failed."""

_ENDED = (
    "COMPLETED", "SUCCEEDED", "SUCCESS", "SUCCESSFUL", "COMPLETE", "FINISHED", "DONE", "CREATE_COMPLETE",
    "UPDATE_COMPLETE", "AVAILABLE", "ACTIVE", "READY", "INSERVICE", "IN_SERVICE", "ENABLED", "APPROVED", "VERIFIED",
    "VALID", "PASSED", "HEALTHY", "OPERATIONAL", "ISSUED", "PUBLISHED", "CREATED", "CONNECTED", "ASSOCIATED",
    "ATTACHED", "ACCEPTED", "REGISTERED", "LINE", "RUNNING", "STARTED", "OK",
)  # fmt: skip
"""Words of enums, the best first: states that are reached in the end, and the block of Textract that has a text."""

_ARN = re.compile(r"(?i)arns?$")
_ADDRESS = re.compile(r"(?i)(url|uri|endpoint)s?$")
_EMAIL = re.compile(r"(?i)e-?mail")
_FRACTION = re.compile(r"(?i)^(left|top|width|height|x|y)$")
_SCORE = re.compile(r"(?i)(confidence|similarity|score)$")
_STATUS = re.compile(r"(?i)(status|state)$")
_GOOD = re.compile(r"(?i)(valid|success|verified|exists|allowed|authorized|enabled)$")
_NUMBERS = (
    (re.compile(r"(?i)^(http)?_?statuscode$"), 200),
    (re.compile(r"(?i)exit_?code$|fail|error|invalid|unprocessed|reject"), 0),
)
_AT = datetime(2025, 1, 1, tzinfo=UTC)
_PERCENT = 99.0
_IN_PERCENT = frozenset({"rekognition", "textract"})
_TEXT_STATUS: Mapping[str, str] = {
    **dict.fromkeys(("docdb", "elasticache", "memorydb", "neptune", "rds", "redshift"), "available"), "ecs": "STOPPED",
}  # fmt: skip
"""States that are plain texts, by service."""


def plausible_text(service: str, name: str, words: Sequence[str], mark: str = "") -> str:
    """A text for a member. `words` are those of its enum; `mark` tells what one call has made from what others have."""
    if words:
        by_word = {word.upper().replace("-", "_").replace(" ", "_"): word for word in words}
        return next((by_word[word] for word in _ENDED if word in by_word), words[0])
    ending = f"-{mark}" if mark else ""
    if _ARN.search(name):
        return f"arn:aws:{service or 'sample'}:us-east-1:000000000000:sample/{name.lower()}{ending}"
    if _ADDRESS.search(name):
        return f"https://example.com/sample-{name}{ending}"
    if _EMAIL.search(name):
        return "someone@example.com"
    if _STATUS.search(name):
        return _TEXT_STATUS.get(service, "COMPLETED")
    return f"sample-{name}{ending}".rstrip("-")


def plausible_plain(service: str, name: str, shape: Shape) -> object:
    """A number, a truth, a time or bytes for a member."""
    match shape.type_name:
        case "integer" | "long":
            fixed = next((value for pattern, value in _NUMBERS if pattern.search(name)), None)
            return max(1, int(shape.metadata.get("min", 1))) if fixed is None else fixed
        case "float" | "double" if _SCORE.search(name):
            return _PERCENT if service in _IN_PERCENT else _PERCENT / 100
        case "float" | "double":
            return 0.1 if _FRACTION.search(name) else 1.0
        case "boolean":
            return _GOOD.search(name) is not None
        case "timestamp":
            return _AT
        case "blob":
            return b"sample"
        case _:
            return None
