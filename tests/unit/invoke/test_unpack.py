"""Code is unpacked once, read-only, and never outside its directory."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from redrive.invoke import unpack as unpack_module
from redrive.invoke.unpack import CodeDirectory, UnusableCode, unpack
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


def test_symbolic_link_is_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(link, "/etc")

    with pytest.raises(UnusableCode, match="symbolic link"):
        unpack(content.getvalue(), tmp_path)


def test_bytes_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableCode, match="Could not unzip"):
        unpack(b"not a zip", tmp_path)


def test_archive_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack_module, "UNPACKED_BYTES_MAX", 3)

    with pytest.raises(UnusableCode, match="smaller than 3 bytes"):
        unpack(archive({"a.py": "1234"}), tmp_path)


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
