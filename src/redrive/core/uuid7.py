"""UUIDs of version 7 from an instant and a hash: equal inputs give the same id.

Source: https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
"""

from __future__ import annotations

import hashlib
import re

from redrive.core.clock import Instant

_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def uuid7(instant: Instant, text: str) -> str:
    """The id of an instant and a text."""
    digits = hashlib.sha256(text.encode()).hexdigest()
    time = f"{max(0, instant) & (1 << 48) - 1:012x}"
    variant = "89ab"[int(digits[3], 16) & 3]
    return f"{time[:8]}-{time[8:]}-7{digits[:3]}-{variant}{digits[4:7]}-{digits[7:19]}"


def time_of_uuid7(id: str) -> Instant | None:
    """The instant in such an id; None if the text is no UUID of version 7."""
    found = _UUID7.fullmatch(id)
    return None if found is None else int(found[1] + found[2], 16)
