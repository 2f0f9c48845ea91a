"""Bodies of objects, as requests bring them and as answers carry them.

    request ──► Received     the gateway has read, decoded and digested the body; a large one lies in the store's bodies
    answer  ◄── Content      a range over bodies of the store, which the gateway sends piece by piece

A body of at most SMALL_BYTES is held in memory, both ways, and stands in the row of its object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SMALL_BYTES = 64 * 1024
"""Up to this size a body is a value in memory. Larger bodies are written to the store's bodies while they come."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A body in the store, or `size` bytes of the body from byte `first` on."""

    body_id: str
    size: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """The body of a request. Its bytes are `content`, or `stored` if they are many.

    A stored body is on the disk already, and nobody's: an operation adopts it by `tx.bodies.adopt`, or it is deleted.
    `digests` has the raw digests of a body that came piece by piece, by the names of the algorithms (`MD5`, `CRC32`,
    `CRC32C`, `CRC64NVME`; others, such as `SHA256`, if the request named them). `trailers` came after a body in chunks,
    their names in lower case.
    `is_by_form`: the body is the file of a form, not that of a PUT.
    """

    size: int
    content: bytes | None
    stored: Segment | None = None
    digests: Mapping[str, bytes] = field(default_factory=dict)
    trailers: Mapping[str, str] = field(default_factory=dict)
    is_by_form: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """The body of an answer: `size` bytes from byte `first` on of the segments, one after another."""

    segments: tuple[Segment, ...]
    first: int
    size: int
