"""Digests of large bodies are made between two steps, never inside of one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator

import pytest

from redrive.core.documents import Document
from redrive.delivery.bodies import Segment
from redrive.delivery.checksums import digests_of
from redrive.delivery.digesting import HELD_BYTES, digested
from redrive.delivery.operation import Digesting
from redrive.store.bodies import RowBodies
from redrive.store.tables.bodies import PIECE_BYTES, BodyTable
from redrive.testing.world import World

PART = b"a" * (5 * PIECE_BYTES)
LAST = b"the end"
WHOLE = PART + LAST
Call = Callable[..., Document]


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def call(world: World) -> Call:
    """Call an operation of S3 on the bucket, which has an object of two parts."""

    def run(operation: str, **params: object) -> Document:
        return world.call("s3", operation, **{"Bucket": "docs", "Key": "whole", **params})

    world.call("s3", "CreateBucket", Bucket="docs")
    put_parts(run)
    return run


def put_parts(call: Call, *parts: bytes) -> None:
    upload = call("CreateMultipartUpload")["UploadId"]
    made = [
        {"PartNumber": number, "ETag": call("UploadPart", UploadId=upload, PartNumber=number, Body=body)["ETag"]}
        for number, body in enumerate(parts or (PART, LAST), 1)
    ]
    call("CompleteMultipartUpload", UploadId=upload, MultipartUpload={"Parts": made})


@pytest.fixture
def reads(world: World, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The bytes of bodies that were read: the step that read them, by its place, and how many."""
    steps, made = 0, []
    run, read = world.store.run, BodyTable.read

    def counting_run(step: Callable[..., object]) -> object:
        nonlocal steps
        steps += 1
        return run(step)

    def counting_read(table: BodyTable, body_id: str, first: int, size: int) -> bytes:
        made.append((steps, size))
        return read(table, body_id, first, size)

    monkeypatch.setattr(world.engine, "run", counting_run)
    monkeypatch.setattr(BodyTable, "read", counting_read)
    return made


def md5(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def one_piece_to_a_step(reads: list[tuple[int, int]]) -> bool:
    steps = [step for step, _ in reads]
    return len(set(steps)) == len(steps) and max(size for _, size in reads) <= PIECE_BYTES


def test_copy_of_an_object_of_parts_reads_no_more_than_a_piece_in_a_step(
    call: Call, reads: list[tuple[int, int]]
) -> None:
    result = call("CopyObject", Key="copy", CopySource="docs/whole")["CopyObjectResult"]

    assert result["ETag"] == md5(WHOLE)
    assert result["ChecksumCRC64NVME"] == base64.b64encode(digests_of(WHOLE)["CRC64NVME"]).decode()
    assert sum(size for _, size in reads) == len(WHOLE)
    assert one_piece_to_a_step(reads)


def test_copied_part_reads_no_more_than_a_piece_in_a_step(call: Call, reads: list[tuple[int, int]]) -> None:
    upload = call("CreateMultipartUpload", Key="k")["UploadId"]

    result = call(
        "UploadPartCopy", Key="k", UploadId=upload, PartNumber=1, CopySource="docs/whole",
        CopySourceRange=f"bytes=7-{len(PART) + 2}",
    )["CopyPartResult"]  # fmt: skip

    assert result["ETag"] == md5(WHOLE[7 : len(PART) + 3])
    assert one_piece_to_a_step(reads)


def test_source_that_is_replaced_while_it_is_digested_is_digested_again(
    world: World, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = b"b" * (5 * PIECE_BYTES)
    open_body, opened = RowBodies.open, list[str]()

    def open_and_replace(bodies: RowBodies, body_id: str) -> object:
        opened.append(body_id)
        if len(opened) == 1:
            put_parts(call, other, LAST)
        return open_body(bodies, body_id)

    monkeypatch.setattr(RowBodies, "open", open_and_replace)

    result = call("CopyObject", Key="copy", CopySource="docs/whole")["CopyObjectResult"]

    assert result["ETag"] == md5(other + LAST)
    assert len(opened) == len(set(opened)) == 4


def test_copy_within_another_step_is_answered_in_that_step(world: World, call: Call) -> None:
    params = {"Bucket": "docs", "Key": "copy", "CopySource": "docs/whole"}

    answer = world.store.run(lambda tx: tx.services.call(tx, world.caller(), "s3", "CopyObject", params))

    assert answer["CopyObjectResult"]["ETag"] == md5(WHOLE)
    assert call("HeadObject", Key="copy")["ETag"] == md5(WHOLE)


def test_bodies_that_are_digested_for_long_are_kept_from_being_deleted() -> None:
    class Endless:
        """A store whose bodies have as many bytes as one asks for."""

        def __init__(self) -> None:
            self.held: list[list[str]] = []

        def open(self, _: str) -> Endless:
            return self

        def read(self, _: int, size: int) -> bytes:
            return b"x"[: min(size, 1)]

        def close(self) -> None:
            pass

        def hold(self, body_ids: list[str]) -> None:
            self.held.append(list(body_ids))

    bodies = Endless()
    segments = (Segment("a", HELD_BYTES), Segment("b", HELD_BYTES), Segment("c", 1))

    digested(bodies, Digesting(segments, ("MD5",)))  # type: ignore[arg-type]

    assert bodies.held == [["b", "c"], ["c"]]
