"""The notification that S3 invokes a function with, as the engine's own S3 writes it."""

from __future__ import annotations

from dataclasses import replace

from redrive.prove.stage.stage import SCOPE, START
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.notification_records import customer_id, record_text

_PUT = Happened(
    "ObjectCreated:Put", "folder/sample file.txt", 1024, "d41d8cd98f00b204e9800998ecf8427e",
    sequencer="0067748A00C2B0A1", reason="PutObject", source_ip="192.0.2.10",
)  # fmt: skip


def sample_notification(suffix: str = "txt", begin: str = "", end: str = "") -> str:
    """An object was put into a bucket, under a name that ends with `suffix`.

    Where a bucket tells only of names that `begin` or `end` in a way, the name does so. A duplicate is this very text,
    and comes as a request of its own.
    """
    folder, _, name = _PUT.key.partition("/")
    put = replace(_PUT, key=f"{begin or f'{folder}/'}{name.removesuffix('.txt')}{end or f'.{suffix}'}")
    bucket = Bucket("sample-bucket", SCOPE.account, SCOPE.region, START, "sample")
    return record_text(
        bucket, put, at=START, configuration_id="sample", request_id="C3D13FE58DE4C810",
        principal_id=customer_id(SCOPE.account),
    )  # fmt: skip
