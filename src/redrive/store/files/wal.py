"""SQLite's write-ahead log, read from outside: how much of it can be replayed, and how much there once was.

SQLite replays a log up to the first frame that does not fit, and says nothing of those behind it. After a crash that
is right: the last transaction may be torn. It is wrong if an earlier frame was damaged, or the file was cut. Two things
tell these apart. After a crash no more than one transaction lies behind the first frame that does not fit. And the
index of the log, a file that SQLite maps into memory, outlives the process: it says how many frames had been committed,
until the machine starts again.

    header   32 bytes   magic, version, page size, checkpoint, two salts, checksum
    frame    24 bytes   page number, pages after the commit (0 if it is none), salts, checksum; then the page

A checksum covers all that stands before it. Frames of an earlier round have other salts.

Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
Source: https://www.sqlite.org/walformat.html#the_wal_index_file_format
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
_MAGIC = 0x377F0682
"""With the lowest bit set, checksums are of big-endian words."""
_PAGE_BYTES = frozenset(1 << power for power in range(9, 17))
_INDEX_BYTES = 48
_INDEX_SUMMED_BYTES = 40
_WORD_MAX = 0xFFFFFFFF
_ORDERS = {0: "<", 1: ">"}

Checksum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Wal:
    """What a log holds. `committed` frames are replayed; `commits_behind` ended behind the first that does not fit."""

    size_bytes: int
    salts: bytes = b""
    committed: int = 0
    commits_behind: int = 0


@dataclass(frozen=True, slots=True)
class WalIndex:
    """What the index says of the log: how many frames of these salts were committed."""

    salts: bytes
    committed: int


def read_wal(path: Path) -> Wal | None:
    """Read a log to its end; None if there is no such file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _read(file, size)
    except FileNotFoundError:
        return None


def read_wal_index(path: Path) -> WalIndex | None:
    """Read the index of a log; None if there is none, or none that was written to its end.

    It holds its header twice, the second of which is written first.
    """
    try:
        with path.open("rb") as file:
            content = file.read(2 * _INDEX_BYTES)
    except FileNotFoundError:
        return None
    order = "<" if sys.byteorder == "little" else ">"
    for copy in (content[:_INDEX_BYTES], content[_INDEX_BYTES:]):
        if len(copy) == _INDEX_BYTES and any(copy):
            summed = _checksum(copy[:_INDEX_SUMMED_BYTES], (0, 0), order)
            if summed == struct.unpack_from(f"{order}II", copy, _INDEX_SUMMED_BYTES):
                (committed,) = struct.unpack_from(f"{order}I", copy, 16)
                return WalIndex(copy[32:40], committed)
    return None


def _read(file: BinaryIO, size: int) -> Wal:
    header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return Wal(size)
    magic, _, page_bytes = struct.unpack_from(">III", header)
    order = _ORDERS[magic & 1]
    running = _checksum(header[:24], (0, 0), order)
    if magic & ~1 != _MAGIC or page_bytes not in _PAGE_BYTES or running != struct.unpack_from(">II", header, 24):
        return _without_header(file, size)
    salts = header[16:24]
    number = committed = 0
    while len(frame := file.read(FRAME_HEADER_BYTES + page_bytes)) == FRAME_HEADER_BYTES + page_bytes:
        number += 1
        page, pages_after = struct.unpack_from(">II", frame)
        running = _checksum(frame[FRAME_HEADER_BYTES:], _checksum(frame[:8], running, order), order)
        if not page or frame[8:16] != salts or running != struct.unpack_from(">II", frame, 16):
            behind = _commits(file, number, page_bytes, salts)
            return Wal(size, salts, committed, behind)
        if pages_after:
            committed = number
    return Wal(size, salts, committed)


def _commits(file: BinaryIO, start: int, page_bytes: int, salts: bytes) -> int:
    """How many frames of these salts, from the `start`th on, end a transaction. Only their headers are looked at."""
    commits, number = 0, start
    while True:
        file.seek(HEADER_BYTES + number * (FRAME_HEADER_BYTES + page_bytes))
        frame = file.read(FRAME_HEADER_BYTES)
        if len(frame) < FRAME_HEADER_BYTES:
            return commits
        commits += frame[8:16] == salts and frame[4:8] != b"\0\0\0\0"
        number += 1


def _without_header(file: BinaryIO, size: int) -> Wal:
    """A log whose header does not fit: nothing of it is replayed. The header is on the disk before any frame is.

    The salts, and the size of a page, are those with which the most transactions end.
    """
    most = Wal(size)
    file.seek(HEADER_BYTES)
    salts = file.read(FRAME_HEADER_BYTES)[8:16]
    for page_bytes in _PAGE_BYTES:
        commits = _commits(file, 0, page_bytes, salts) if any(salts) else 0
        if commits > most.commits_behind:
            most = Wal(size, salts, 0, commits)
    return most


def _checksum(content: bytes, running: Checksum, order: str) -> Checksum:
    """The running checksum over 32-bit words, two at a time."""
    first, second = running
    for left, right in struct.iter_unpack(f"{order}II", content):
        first = (first + left + second) & _WORD_MAX
        second = (second + right + first) & _WORD_MAX
    return first, second
