"""Which archives of function code are taken, by their directory of names alone."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.archives import (
    ENTRIES_MAX,
    LINK_BYTES_MAX,
    LINKS_MAX,
    ArchiveTooLarge,
    BadArchive,
    parts_of,
    sound_entries,
)

LINK = stat.S_IFLNK | 0o777


def archive(*files: tuple[str, bytes, int]) -> bytes:
    """An archive of files: name, content, mode."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It warns of equal names.
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            target.writestr(entry, data)
    return content.getvalue()


def file(name: str, data: bytes = b"") -> tuple[str, bytes, int]:
    return name, data, stat.S_IFREG | 0o644


def link(name: str, target: str) -> tuple[str, bytes, int]:
    return name, target.encode(), LINK


def test_sound_archive_is_given_in_its_order() -> None:
    content = archive(file("b.py", b"x"), file("a/"), file("a/c.py"), link("d", "a/c.py"))

    assert [entry.filename for entry in sound_entries(content)] == ["b.py", "a/", "a/c.py", "d"]


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ([file("/a")], "outside"),
        ([file("../a")], "outside"),
        ([file("a/../../b")], "outside"),
        ([file("..\\a")], "outside"),
        ([file("a\nb")], "no file can have"),
        ([file("x" * 256)], "no file can have"),
        ([file("x/" * 600)], "no file can have"),
        ([file("./")], "no file can have"),
        ([file("a"), file("a")], "two files"),
        ([file("a"), file("./a")], "two files"),
        ([file("a"), link("a", "b")], "two files"),
        ([file("a"), file("a/b")], "needs a folder"),
        ([link("a", "b"), file("a/b")], "needs a folder"),
        ([("a", b"", stat.S_IFCHR | 0o666)], "neither file nor folder"),
        ([("a", b"", stat.S_IFBLK | 0o666)], "neither file nor folder"),
        ([("a", b"", stat.S_IFIFO | 0o666)], "neither file nor folder"),
        ([("a", b"", stat.S_IFSOCK | 0o666)], "neither file nor folder"),
        ([link("a", "/etc/passwd")], "symbolic link"),
        ([link("a", "..")], "symbolic link"),
        ([link("a/b", "../../x")], "symbolic link"),
        ([link("a/b/root", "../.."), link("c", "a/b/root/../x")], "symbolic link"),
        ([link("a", "b"), link("b", "a")], "symbolic link"),
        ([link("a", "x" * (LINK_BYTES_MAX + 1))], "too long"),
        ([link(f"l{number}", "x") for number in range(LINKS_MAX + 1)], "too many"),
    ],
)
def test_archive_that_names_what_must_not_be_written_is_refused(
    files: list[tuple[str, bytes, int]], fault: str
) -> None:
    content = archive(*files)

    with pytest.raises(BadArchive, match=fault):
        sound_entries(content)


def test_links_within_the_archive_are_taken() -> None:
    content = archive(
        file("a/b/app.py"), link("short", "a/b/app.py"), link("a/up", "../short"), link("a/b/root", "../..")
    )

    assert len(sound_entries(content)) == 4


def test_what_is_stated_to_be_larger_than_code_may_be_is_refused() -> None:
    content = archive(file("a", b"123"), file("b", b"45"))

    assert len(sound_entries(content, bytes_max=5)) == 2
    with pytest.raises(ArchiveTooLarge, match="smaller than 4 bytes"):
        sound_entries(content, bytes_max=4)


def test_archive_of_too_many_entries_is_refused_whatever_number_it_states() -> None:
    """The count is not believed: what would be read is counted."""
    content = bytearray(archive(*(file(f"f{number}") for number in range(ENTRIES_MAX + 1))))
    content[-14:-10] = b"\1\0\1\0"

    with pytest.raises(BadArchive, match=f"more than {ENTRIES_MAX}"):
        sound_entries(bytes(content))


def test_encrypted_archive_is_refused() -> None:
    content = bytearray(archive(file("a")))
    content[content.index(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(BadArchive, match="encrypted"):
        sound_entries(bytes(content))


@given(st.binary(max_size=300), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=20))
def test_damaged_archive_is_refused_or_sound(junk: bytes, changes: list[tuple[int, int]]) -> None:
    """However its bytes are changed, what is taken has each entry at a place of its own below the root."""
    content = bytearray(archive(file("a.py", b"x = 1"), file("b/c.py", junk), link("d", "b/c.py")))
    for at, byte in changes:
        content[-1 - at % len(content)] = byte

    try:
        entries = sound_entries(bytes(content))
    except BadArchive:
        return
    places = [parts_of(entry) for entry in entries if not entry.is_dir()]
    assert len(set(places)) == len(places)
    assert not any(".." in place for place in places)
