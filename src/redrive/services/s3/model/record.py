"""The document of a stored object: what is known of it beside its key, its size and its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.delivery.bodies import Segment

STANDARD = "STANDARD"
COMPOSITE, FULL_OBJECT = "COMPOSITE", "FULL_OBJECT"


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum of an object or of a part: the algorithm's name in AWS's spelling, and the value in base64.

    `kind` is COMPOSITE or FULL_OBJECT. A composite value ends with the number of parts: `…-3`.
    """

    algorithm: str
    value: str
    kind: str = FULL_OBJECT

    @property
    def member(self) -> str:
        """The member of AWS's shapes that holds the value."""
        return f"Checksum{self.algorithm}"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an object that was uploaded in parts."""

    number: int
    size: int
    checksum: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What is stored of an object.

    `headers` has the system metadata by AWS's members (`ContentType`), `metadata` the user's, `members` what belongs to
    encryption, object lock and access control. `segments` is empty if the body stands in the object's row.
    """

    etag: str
    owner: str
    checksum: Checksum | None = None
    headers: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    storage_class: str = STANDARD
    members: Document = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    parts: tuple[Part, ...] = ()


def record_document(record: Record) -> Document:
    """The stored form. What an object does not have takes no room."""
    checksum = record.checksum
    document: Document = {
        "etag": record.etag,
        "owner": record.owner,
        "checksum": None if checksum is None else [checksum.algorithm, checksum.value, checksum.kind],
        "headers": dict(record.headers),
        "metadata": dict(record.metadata),
        "tags": dict(record.tags),
        "class": "" if record.storage_class == STANDARD else record.storage_class,
        "members": record.members,
        "segments": [segment_document(segment) for segment in record.segments],
        "parts": [[part.number, part.size, part.checksum] for part in record.parts],
    }
    return {name: value for name, value in document.items() if value}


def record_of(document: Document) -> Record:
    """The record that `record_document` has stored."""
    checksum = document.get("checksum")
    return Record(
        str(document.get("etag", "")),
        str(document.get("owner", "")),
        None if checksum is None else Checksum(*checksum),
        document.get("headers", {}),
        document.get("metadata", {}),
        document.get("tags", {}),
        str(document.get("class", STANDARD)),
        document.get("members", {}),
        tuple([segment_of(segment) for segment in document.get("segments", ())]),
        tuple([Part(*part) for part in document.get("parts", ())]),
    )


def segment_document(segment: Segment) -> list[object]:
    """The stored form of a segment."""
    return [segment.body_id, segment.size, segment.first] if segment.first else [segment.body_id, segment.size]


def segment_of(document: list[object]) -> Segment:
    """The segment that `segment_document` has stored."""
    body_id, size, *first = document
    return Segment(str(body_id), int(str(size)), int(str(first[0])) if first else 0)
