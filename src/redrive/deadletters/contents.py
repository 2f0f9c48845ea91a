"""Work that stands elsewhere: the records of a batch in their stream, a large body in an object of S3."""

from __future__ import annotations

import json
from typing import Any

from redrive.core.clock import Instant
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.executions import input_of
from redrive.deadletters.letter import Letter, Origin
from redrive.deadletters.sources import Client
from redrive.deadletters.streams import Streams

OBJECT_BYTES_MAX = 16 * 1024 * 1024
"""The largest object that is read: no destination takes more than 6 MiB."""

_READ_POINTERS = frozenset({To.QUEUE, To.TOPIC})
"""Who reads from these destinations follows the pointer, as the sender meant it."""


class Unfetched(Exception):
    """The work is gone, or not whole; the text says why."""


def is_elsewhere(letter: Letter, to: Destination) -> bool:
    """Whether the work has to be fetched before it is sent."""
    if letter.origin is Origin.EXECUTION:
        return not letter.work.text and to.kind is not To.EXECUTION
    if letter.work.batch is not None:
        return not letter.work.text
    return letter.work.pointer is not None and to.kind not in _READ_POINTERS


class Contents:
    """Fetches the work of letters. Reading takes nothing away."""

    def __init__(self, client: Client, streams: Streams) -> None:
        self._client = client
        self._streams = streams

    def text(self, letter: Letter) -> str:
        """The work: of a batch the event that its function got. Errors: Unfetched, ClientError."""
        if letter.origin is Origin.EXECUTION:
            return input_of(self._client("stepfunctions"), letter.work.target_arn)
        if letter.work.batch is not None:
            found, count = self._streams.fetch(letter.work.batch), letter.work.batch.count
            if found.missing:
                raise Unfetched(f"the stream has {count - found.missing} of {count} records. {found.why}".strip())
            return json.dumps(found.event, ensure_ascii=False, separators=(",", ":"))
        pointer = letter.work.pointer
        if pointer is None:
            raise Unfetched("the letter does not say where its work is")
        return self._read(pointer.bucket, pointer.key)

    def until(self, letter: Letter) -> Instant | None:
        """When the stream drops the first record of a batch; None if nothing is dropped, or it is not known."""
        return None if letter.work.batch is None else self._streams.until(letter.work.batch)

    def _read(self, bucket: str, key: str) -> str:
        answer: Any = self._client("s3").get_object(Bucket=bucket, Key=key)
        if answer["ContentLength"] > OBJECT_BYTES_MAX:
            raise Unfetched(f"s3://{bucket}/{key} has {answer['ContentLength']} bytes")
        try:
            return str(answer["Body"].read().decode())
        except UnicodeDecodeError as error:
            raise Unfetched(f"s3://{bucket}/{key} is no text") from error
