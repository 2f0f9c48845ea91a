"""Multipart uploads and their parts: their documents, and how parts become one object.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.delivery.bodies import Segment
from redrive.delivery.checksums import combined, digest_of
from redrive.services.s3 import limits
from redrive.services.s3.model.checksums import DEFAULT_ALGORITHM, bad_checksum
from redrive.services.s3.model.errors import invalid_argument, invalid_request
from redrive.services.s3.model.record import COMPOSITE, FULL_OBJECT, Checksum, Record, segment_document, segment_of


@dataclass(frozen=True, slots=True)
class UploadSettings:
    """What a multipart upload was begun with. `algorithm` and `kind` are empty if no checksum was asked for.

    `record` is that of the object without its digests. `replaces` is the number of the version that was current then, 0
    if there was none.
    """

    record: Document
    initiator: str
    algorithm: str = ""
    kind: str = ""
    replaces: int = 0

    @property
    def counted(self) -> str:
        """The algorithm by which the object will have a checksum."""
        return self.algorithm or DEFAULT_ALGORITHM


def settings_document(settings: UploadSettings) -> Document:
    """The stored form."""
    return {
        "record": settings.record, "initiator": settings.initiator, "algorithm": settings.algorithm,
        "kind": settings.kind, "replaces": settings.replaces,
    }  # fmt: skip


def settings_of(document: Document) -> UploadSettings:
    """What `settings_document` has stored."""
    return UploadSettings(**document)


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """A part with its digests; `checksum` is the one by which the object will have one, in base64."""

    number: int
    size: int
    etag: str
    checksum: str
    segments: tuple[Segment, ...] = ()


def part_document(etag: str, checksum: str, segments: Sequence[Segment]) -> Document:
    """The stored form of what a part has beside its number and its size."""
    return {"etag": etag, "checksum": checksum, "segments": [segment_document(segment) for segment in segments]}


def part_of(number: int, size: int, document: Document) -> UploadedPart:
    """What `part_document` has stored."""
    segments = tuple(segment_of(segment) for segment in document["segments"])
    return UploadedPart(number, size, str(document["etag"]), str(document["checksum"]), segments)


def check_part_number(number: int) -> None:
    """Errors: InvalidArgument."""
    if not 1 <= number <= limits.PART_NUMBER_MAX:
        message = f"Part number must be an integer between 1 and {limits.PART_NUMBER_MAX}, inclusive"
        raise invalid_argument(message, "partNumber", str(number))


def check_part_algorithm(settings: UploadSettings, declared: Checksum | None) -> None:
    """Refuse a part with another checksum than that of its upload. Errors: InvalidRequest."""
    if not settings.algorithm or (declared is None and settings.kind == FULL_OBJECT):
        return
    actual = "null" if declared is None else declared.algorithm.lower()
    expected = settings.algorithm.lower()
    if actual != expected:
        message = f"Checksum Type mismatch occurred, expected checksum Type: {expected}, actual checksum Type: {actual}"
        raise invalid_request(message)


def chosen_parts(
    given: Sequence[Document], uploaded: Mapping[int, UploadedPart], settings: UploadSettings, upload_id: str
) -> list[UploadedPart]:
    """The parts that become the object, in order.

    Errors: InvalidRequest; InvalidPartOrder; InvalidPart; EntityTooSmall.
    """
    if not given:
        raise invalid_request("You must specify at least one part")
    numbers = [int(part["PartNumber"]) for part in given]
    if any(number >= after for number, after in itertools.pairwise(numbers)):
        message = "The list of parts was not in ascending order. Parts must be ordered by part number."
        raise ServiceError("InvalidPartOrder", message, http_status=400)
    chosen = [_chosen(part, uploaded, settings, upload_id) for part in given]
    for part in chosen[:-1]:
        if part.size < limits.PART_BYTES_MIN:
            raise _too_small(part)
    return chosen


def _chosen(
    given: Document, uploaded: Mapping[int, UploadedPart], settings: UploadSettings, upload_id: str
) -> UploadedPart:
    number = int(given["PartNumber"])
    etag = str(given.get("ETag", "")).strip('"')
    found = uploaded.get(number)
    stated = given.get(f"Checksum{settings.counted}")
    if settings.kind == COMPOSITE and stated is None:
        message = (
            f"The upload was created using a {settings.algorithm.lower()} checksum. The complete request must include "
            f"the checksum for each part. It was missing for part {number} in the request."
        )
        raise invalid_request(message)
    if found is None or found.etag != etag or (stated is not None and stated != found.checksum):
        message = (
            "One or more of the specified parts could not be found.  The part may not have been uploaded, or the "
            "specified entity tag may not match the part's entity tag."
        )
        members = {"UploadId": upload_id, "PartNumber": str(number), "ETag": etag}
        raise ServiceError("InvalidPart", message, http_status=400, members=members)
    return found


def _too_small(part: UploadedPart) -> ServiceError:
    members = {
        "ETag": part.etag, "PartNumber": str(part.number), "ProposedSize": str(part.size),
        "MinSizeAllowed": str(limits.PART_BYTES_MIN),
    }  # fmt: skip
    message = "Your proposed upload is smaller than the minimum allowed size"
    return ServiceError("EntityTooSmall", message, http_status=400, members=members)


def check_completion(
    settings: UploadSettings, size: int, declared: Checksum | None, kind: str | None, stated_size: int | None
) -> None:
    """Check what the request says of the whole object, beside its checksum. Errors: InvalidRequest."""
    if kind is not None and kind != (settings.kind or None):
        mode = settings.kind or "null"
        message = (
            f"The upload was created using the {mode} checksum mode. The complete request must use the same checksum "
            "mode."
        )
        raise invalid_request(message)
    if declared is not None and settings.algorithm and declared.algorithm != settings.algorithm:
        expected, actual = settings.algorithm.lower(), declared.algorithm.lower()
        message = f"Checksum Type mismatch occurred, expected checksum Type: {expected}, actual checksum Type: {actual}"
        raise invalid_request(message)
    if stated_size is not None and stated_size != size:
        message = (
            f"The provided 'x-amz-mp-object-size' header value {stated_size} does not match what was computed: {size}"
        )
        raise invalid_request(message)


def etag_of(parts: Sequence[UploadedPart]) -> str:
    """The ETag of an object of parts: the MD5 of their MD5s, and how many there are."""
    digests = b"".join(bytes.fromhex(part.etag) for part in parts)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"


def checksum_of(settings: UploadSettings, parts: Sequence[UploadedPart], declared: Checksum | None) -> Checksum:
    """The checksum of an object of parts. Errors: BadDigest."""
    algorithm = settings.counted
    raw = [(base64.b64decode(part.checksum), part.size) for part in parts]
    if settings.kind == COMPOSITE:
        digest = digest_of(algorithm)
        digest.update(b"".join(one for one, _ in raw))
        value = f"{base64.b64encode(digest.digest()).decode()}-{len(parts)}"
        made = Checksum(algorithm, value, COMPOSITE)
    else:
        made = Checksum(algorithm, base64.b64encode(combined(algorithm, raw)).decode(), FULL_OBJECT)
    if declared is not None and declared.algorithm == algorithm and declared.value not in _forms(made):
        raise bad_checksum(algorithm.lower())
    return made


def shown_kind(record: Record) -> str:
    """How the checksum of an object counts; empty if the object has none."""
    return "" if record.checksum is None else record.checksum.kind


def _forms(checksum: Checksum) -> tuple[str, str]:
    """A checksum with and without the number of parts."""
    return checksum.value, checksum.value.partition("-")[0]
