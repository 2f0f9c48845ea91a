"""Zip archives of function code: checks, by the archive's directory, that unpacking is safe and bounded.

Only the targets of links are read, so the check is fast even for a large archive. The directory may state false sizes.
Code that unpacks an entry reads no more than the stated size, so a false size makes an archive damaged, not large.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping, Sequence

UNPACKED_BYTES_MAX = 262_144_000  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html

ENTRIES_MAX = 30_000
"""AWS documents no limit. Each entry takes time to read and to write, whatever its size."""

LINKS_MAX = 1_000
LINK_BYTES_MAX = 1_024
LINK_STEPS_MAX = 100_000
"""How many path names are followed in total to resolve the links."""

NAME_BYTES_MAX = 255
PATH_BYTES_MAX = 1_024

_ENCRYPTED = 0x1
_END, _ENTRY, _ZIP64_LOCATOR = b"PK\x05\x06", b"PK\x01\x02", b"PK\x06\x07"
_END_BYTES, _COMMENT_BYTES_MAX, _LOCATOR_BYTES = 22, 65_535, 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNIX_SYSTEMS = frozenset({3, 19})

Parts = tuple[str, ...]


class BadArchive(Exception):
    """The archive cannot be unpacked: it is damaged, or an entry may not be written. The text says why."""


class ArchiveTooLarge(BadArchive):
    """The unpacked files are larger than a function's code may be."""


def sound_entries(content: bytes, *, bytes_max: int = UNPACKED_BYTES_MAX) -> list[zipfile.ZipInfo]:
    """The entries of an archive. All of them can be written below one directory. Errors: BadArchive."""
    if _count_entries(content) > ENTRIES_MAX:
        raise BadArchive(f"The archive has more than {ENTRIES_MAX} entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > bytes_max:
                raise ArchiveTooLarge(f"Unzipped size must be smaller than {bytes_max} bytes")
            places = [parts_of(entry) for entry in entries]
            _check_places(entries, places)
            links = {place: entry for entry, place in zip(entries, places, strict=True) if is_link(entry)}
            _check_links({place: _target(archive, entry) for place, entry in _within(links).items()})
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
        raise BadArchive(f"Could not unzip uploaded file: {error}") from error
    return entries


def parts_of(entry: zipfile.ZipInfo) -> Parts:
    """The path of an entry, from the archive's root. Errors: BadArchive (the path is not inside the archive)."""
    name = entry.filename.replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts:
        raise BadArchive(f"The archive names a place outside of itself: {entry.filename!r}")
    is_too_long = len(name.encode()) > PATH_BYTES_MAX or any(len(part.encode()) > NAME_BYTES_MAX for part in parts)
    if not parts or is_too_long or _CONTROL.search(name):
        raise BadArchive(f"The archive has a name that no file can have: {entry.filename[:100]!r}")
    return parts


def mode_of(entry: zipfile.ZipInfo) -> int:
    """The Unix mode of an entry; 0 if the archive was made on another system."""
    return entry.external_attr >> 16 if entry.create_system in _UNIX_SYSTEMS else 0


def is_link(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a symbolic link."""
    return stat.S_ISLNK(mode_of(entry))


def _count_entries(content: bytes) -> int:
    """An upper bound on the number of entries that will be read. The number that the archive states is ignored."""
    end = content.rfind(_END, max(0, len(content) - _END_BYTES - _COMMENT_BYTES_MAX))
    if end < 0:
        return 0
    is_zip64 = content[max(0, end - _LOCATOR_BYTES) : end].startswith(_ZIP64_LOCATOR)
    size = int.from_bytes(content[end + 12 : end + 16], "little")
    return content.count(_ENTRY, 0 if is_zip64 else max(0, end - size))


def _check_places(entries: Sequence[zipfile.ZipInfo], places: Sequence[Parts]) -> None:
    """Each entry has its own path, is a file, a folder or a link, and is readable. Errors: BadArchive."""
    files: set[Parts] = set()
    folders: set[Parts] = set()
    for entry, place in zip(entries, places, strict=True):
        kind = stat.S_IFMT(mode_of(entry))
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            raise BadArchive(f"The archive holds what is neither file nor folder: {entry.filename!r}")
        if entry.flag_bits & _ENCRYPTED:
            raise BadArchive("The archive is encrypted")
        if entry.is_dir():
            folders.add(place)
        elif place in files:
            raise BadArchive(f"The archive holds two files of one name: {entry.filename!r}")
        else:
            files.add(place)
        parent = place[:-1]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent[:-1]
    if not files.isdisjoint(folders):
        raise BadArchive(f"The archive holds a file where it needs a folder: {'/'.join(min(files & folders))!r}")


def _within(links: Mapping[Parts, zipfile.ZipInfo]) -> Mapping[Parts, zipfile.ZipInfo]:
    if len(links) > LINKS_MAX or any(entry.file_size > LINK_BYTES_MAX for entry in links.values()):
        raise BadArchive("The archive holds too many symbolic links, or too long ones")
    return links


def _target(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    return archive.read(entry).decode()


def _check_links(targets: Mapping[Parts, str]) -> None:
    """Links lead only to paths in the archive, also through other links. Errors: BadArchive."""
    steps = 0
    for link in targets:
        at: list[str] = []
        ahead = list(reversed(link))
        while ahead:
            part = ahead.pop()
            steps += 1
            if steps > LINK_STEPS_MAX or (part == ".." and not at):
                raise _leads_outside(link)
            if part == "..":
                at.pop()
            elif part not in ("", "."):
                at.append(part)
                target = targets.get(tuple(at))
                if target is not None and target.startswith("/"):
                    raise _leads_outside(link)
                if target is not None:
                    at.pop()
                    ahead += reversed(target.split("/"))


def _leads_outside(link: Parts) -> BadArchive:
    return BadArchive(f"The archive holds a symbolic link to a place outside of itself: {'/'.join(link)!r}")
