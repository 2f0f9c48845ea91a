"""Code is unpacked once, read-only, and never outside its directory."""

from __future__ import annotations

import io
import stat
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redrive.invoke.sandbox.unpack import CodeDirectory, UnusableCode, unpack
from tests.unit.invoke.functions import archive


def test_files_are_written_read_only_and_keep_their_execute_permission(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        target.writestr("pkg/app.py", "x = 1")
        script = zipfile.ZipInfo("bin/run")
        script.external_attr = 0o755 << 16
        target.writestr(script, "#!/bin/sh")

    unpack(content.getvalue(), tmp_path)

    assert (tmp_path / "pkg" / "app.py").read_text() == "x = 1"
    assert stat.S_IMODE((tmp_path / "pkg" / "app.py").stat().st_mode) == 0o444
    assert stat.S_IMODE((tmp_path / "bin" / "run").stat().st_mode) == 0o555


@pytest.mark.parametrize("name", ["../escaped.py", "a/../../escaped.py", "/escaped.py", "..\\escaped.py"])
def test_name_that_leads_outside_is_refused_and_writes_nothing_there(name: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()

    with pytest.raises(UnusableCode, match="outside of itself"):
        unpack(archive({name: "x"}), inner)

    assert [path.name for path in tmp_path.iterdir()] == ["inner"]


def linked(**links: str) -> bytes:
    """An archive with a file `a/b/app.py` and links; a double underscore in a link's name is a slash."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for name, text in links.items():
            link = zipfile.ZipInfo(name.replace("__", "/"))
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            target.writestr(link, text)
        target.writestr("a/b/app.py", "x = 1")
    return content.getvalue()


def test_symbolic_link_inside_the_package_is_made(tmp_path: Path) -> None:
    """Packages zipped with their links (`zip -y`), such as those between versions of a library, work as on AWS."""
    unpack(linked(short="a/b/app.py", a__up="../short"), tmp_path)

    assert (tmp_path / "short").read_text() == (tmp_path / "a" / "up").read_text() == "x = 1"


@pytest.mark.parametrize(
    "links", [{"link": "/etc"}, {"link": "../x"}, {"a__b__root": "../..", "link": "a/b/root/../x"}]
)
def test_symbolic_link_that_leads_outside_is_refused(links: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UnusableCode, match="symbolic link"):
        unpack(linked(**links), tmp_path)


def test_archive_with_damaged_content_is_refused(tmp_path: Path) -> None:
    """A sound directory of names, over content that cannot be inflated."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("app.py", "x = 1\n" * 100)
    damaged = bytearray(content.getvalue())
    damaged[36:40] = b"\xff\xff\xff\xff"

    with pytest.raises(UnusableCode, match="Could not unzip"):
        unpack(bytes(damaged), tmp_path)


def test_bytes_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableCode, match="Could not unzip"):
        unpack(b"not a zip", tmp_path)


def test_archive_that_grows_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableCode, match="smaller than 3 bytes"):
        unpack(archive({"a.py": "1234"}), tmp_path, bytes_max=3)


def test_code_is_loaded_once_for_each_digest(tmp_path: Path) -> None:
    loaded: list[str] = []

    def load(digest: str) -> bytes:
        loaded.append(digest)
        return archive({"app.py": digest})

    directory = CodeDirectory(tmp_path / "code", load)
    paths = [directory.path(digest) for digest in ("a/b+c=", "other", "a/b+c=")]

    assert loaded == ["a/b+c=", "other"]
    assert paths[0] == paths[2] != paths[1]
    assert (paths[0] / "app.py").read_text() == "a/b+c="


def test_code_that_cannot_be_unpacked_leaves_nothing_behind(tmp_path: Path) -> None:
    directory = CodeDirectory(tmp_path, lambda _: archive({"good.py": "", "../bad.py": ""}))

    with pytest.raises(UnusableCode):
        directory.path("digest")

    assert list(tmp_path.iterdir()) == []


def test_code_that_takes_long_to_unpack_keeps_no_other_function_waiting(tmp_path: Path) -> None:
    """Each digest has a lock of its own: the other one is unpacked while the first is being loaded."""
    others: list[Path] = []

    def load(digest: str) -> bytes:
        if digest == "slow":
            with ThreadPoolExecutor(1) as thread:
                others.append(thread.submit(directory.path, "quick").result())
        return archive({"app.py": digest})

    directory = CodeDirectory(tmp_path, load)
    slow = directory.path("slow")

    assert (slow / "app.py").read_text() == "slow"
    assert [(other / "app.py").read_text() for other in others] == ["quick"]


def test_closing_ends_what_is_being_unpacked(tmp_path: Path) -> None:
    def load(digest: str) -> bytes:
        directory.close()
        return archive({"app.py": digest})

    directory = CodeDirectory(tmp_path, load)

    with pytest.raises(UnusableCode, match="closed"):
        directory.path("digest")


def test_entry_that_states_too_small_a_size_writes_no_more_than_that(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("app.py", b"x" * 1_000_000)
    lying = bytearray(content.getvalue())
    entry = lying.index(b"PK\x01\x02")
    lying[entry + 24 : entry + 28] = (10).to_bytes(4, "little")

    with pytest.raises(UnusableCode, match="Could not unzip"):
        unpack(bytes(lying), tmp_path)

    assert (tmp_path / "app.py").stat().st_size <= 10


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("#!/var/lang/bin/python", "#!/usr/bin/env python3"),
        ("#!/var/lang/bin/python3.13 -s", "#!/usr/bin/env python3 -s"),
        ("#!/var/lang/bin/node", "#!/usr/bin/env node"),
        ("#!/usr/bin/python3", "#!/usr/bin/python3"),
        ("# Not the first: #!/var/lang/bin/python", "# Not the first: #!/var/lang/bin/python"),
    ],
)
def test_script_finds_the_interpreter_that_aws_has_in_its_runtimes(tmp_path: Path, line: str, written: str) -> None:
    unpack(archive({"tool": f"{line}\nrest\n"}), tmp_path)

    assert (tmp_path / "tool").read_text() == f"{written}\nrest\n"
