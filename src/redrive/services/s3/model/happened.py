"""What happened to an object, as S3 tells those who asked to be told."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.scope import LOCAL_IP


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of an object. `name` is AWS's, without `s3:`: `ObjectCreated:Put`.

    `size`, `etag` (without quotes) and `sequencer` are None where the event has none; `version_id` is empty for the
    version `null`. `reason` is EventBridge's (`PutObject`).
    """

    name: str
    key: str
    size: int | None = None
    etag: str | None = None
    version_id: str = ""
    sequencer: str | None = None
    reason: str = ""
    source_ip: str = LOCAL_IP
