"""The size of payloads: inputs, outputs and results have at most 262,144 bytes of UTF-8."""

from __future__ import annotations

from redrive.core.documents import dump_json
from redrive.languages.states.errors import DATA_LIMIT_EXCEEDED, StatesError

PAYLOAD_BYTES_MAX = 262_144


def payload_bytes(value: object) -> int:
    """The length of a value as JSON."""
    text = dump_json(value)
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def fits(text: str) -> bool:
    """Whether a payload that is JSON already is short enough."""
    return len(text) * 4 <= PAYLOAD_BYTES_MAX or len(text.encode("utf-8", "surrogatepass")) <= PAYLOAD_BYTES_MAX


def too_large(name: str) -> StatesError:
    """The error of a result or an output over the limit; `name` is the state's, or the function's ARN."""
    return StatesError(
        DATA_LIMIT_EXCEEDED,
        f"The state/task '{name}' returned a result with a size exceeding the maximum number of bytes service limit.",
        is_bare=True,
    )
