"""What CBOR says, as Python values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

# Source: https://www.rfc-editor.org/rfc/rfc8949#section-3.4.2
EPOCH_TAG = 1
"""The tag of a number of seconds since the epoch."""


class Malformed(ValueError):
    """Bytes that are no CBOR, or CBOR beyond the part that is read here."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value with a number that says what is meant by it."""

    tag: int
    value: Value


Value: TypeAlias = Union[bool, int, float, str, bytes, Tagged, "list[Value]", "dict[str, Value]", None]
