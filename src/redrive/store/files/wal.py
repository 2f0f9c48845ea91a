"""Reads SQLite's write-ahead log from outside: how much can be replayed, and how much was once committed.

SQLite replays a log up to the first invalid frame, and does not report the frames after it. After a crash this is
right: the last transaction may be torn. It is wrong if an earlier frame is damaged, or the file was cut. Two facts show
the difference. After a crash, at most one transaction follows the first invalid frame. And the log's index, a file that
SQLite maps into memory, outlives the process: until the machine restarts, it says how many frames were committed.

    header   32 bytes   magic, version, page size, checkpoint, two salts, checksum
    frame    24 bytes   page number, pages after the commit (0 if it is none), salts, checksum; then the page

A checksum covers everything before it. Frames from before the log's last reset have other salts.

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
"""If the lowest bit is set, checksums use big-endian words."""
_PAGE_BYTES = frozenset(1 << power for power in range(9, 17))
_INDEX_BYTES = 48
_INDEX_SUMMED_BYTES = 40
_WORD_MAX = 0xFFFFFFFF
_ORDERS = {0: "<", 1: ">"}

Checksum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Wal:
    """A log. `committed` frames can be replayed; `commits_behind` commits follow the first invalid frame."""

    size_bytes: int
    salts: bytes = b""
    committed: int = 0
    commits_behind: int = 0


@dataclass(frozen=True, slots=True)
class WalIndex:
    """The content of the index: how many frames with these salts were committed."""

    salts: bytes
    committed: int


def read_wal(path: Path) -> Wal | None:
    """Read a log to its end; None if the file does not exist."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _read(file, size)
    except FileNotFoundError:
        return None


def read_wal_index(path: Path) -> WalIndex | None:
    """Read the index of a log; None if it does not exist or was not written completely.

    The index holds its header twice. SQLite writes the second copy first.
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
    """How many frames with these salts, from number `start` on, end a transaction. Reads only their headers."""
    commits, number = 0, start
    while True:
        file.seek(HEADER_BYTES + number * (FRAME_HEADER_BYTES + page_bytes))
        frame = file.read(FRAME_HEADER_BYTES)
        if len(frame) < FRAME_HEADER_BYTES:
            return commits
        commits += frame[8:16] == salts and frame[4:8] != b"\0\0\0\0"
        number += 1


def _without_header(file: BinaryIO, size: int) -> Wal:
    """A log with an invalid header. Nothing of it is replayed. SQLite syncs the header first, so frames mean damage.

    The salts and the page size are guessed: those with the most commits.
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
    """The running checksum over pairs of 32-bit words."""
    first, second = running
    for left, right in struct.iter_unpack(f"{order}II", content):
        first = (first + left + second) & _WORD_MAX
        second = (second + right + first) & _WORD_MAX
    return first, second
