"""Directories of code become archives: always the same, with their dependencies, without what is no code."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.packaging.bundle import Bundler
from redrive.packaging.files import archive_of, digest_of, files_of
from tests.unit.packaging.conftest import Said

RUNTIME = "python3.12"


def names_in(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sorted(archive.namelist())


def test_same_files_give_the_same_archive_whenever_they_were_written(code: Path) -> None:
    first = archive_of(files_of(code))
    os.utime(code / "app.py", (1, 1))

    assert archive_of(files_of(code)) == first


def test_content_name_and_being_executable_each_change_the_digest(code: Path) -> None:
    digests = {digest_of(files_of(code))}
    (code / "app.py").chmod(0o755)
    digests.add(digest_of(files_of(code)))
    (code / "app.py").write_text("other")
    digests.add(digest_of(files_of(code)))
    (code / "app.py").rename(code / "main.py")
    digests.add(digest_of(files_of(code)))

    assert len(digests) == 4


def test_what_is_no_code_is_left_out(code: Path, bundler: Bundler) -> None:
    for name in (".git/HEAD", "__pycache__/app.pyc", ".venv/lib/x.py", ".aws-sam/build.toml", "a/.DS_Store", "a/b.py"):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text("x")

    assert names_in(bundler.bundle(code, RUNTIME)) == ["a/b.py", "app.py"]


def test_directory_with_requirements_gets_what_they_ask_for(code: Path, bundler: Bundler, said: Said) -> None:
    (code / "requirements.txt").write_text("package==1\n")

    content = bundler.bundle(code, RUNTIME)

    assert names_in(content) == ["app.py", "package/__init__.py", "requirements.txt"]
    assert said == [f"installing {code}/requirements.txt for Python 3.12", f"packing {code}: 3 files"]


def test_requirements_are_installed_once_and_the_same_bundle_is_made_once(
    code: Path, bundler: Bundler, said: Said
) -> None:
    (code / "requirements.txt").write_text("package==1\n")
    first = bundler.bundle(code, RUNTIME)
    said.clear()

    again = bundler.bundle(code, RUNTIME)
    quiet = list(said)
    (code / "app.py").write_text("changed")
    changed = bundler.bundle(code, RUNTIME)

    assert (again, quiet) == (first, [])
    assert changed != first
    assert said == [f"packing {code}: 3 files"]


@pytest.mark.parametrize("requirements", ["", "# nothing\n\n"])
def test_requirements_that_ask_for_nothing_install_nothing(code: Path, bundler: Bundler, requirements: str) -> None:
    (code / "requirements.txt").write_text(requirements)

    assert names_in(bundler.bundle(code, RUNTIME)) == ["app.py", "requirements.txt"]


def test_code_of_another_language_or_built_already_is_packed_as_it_is(code: Path, bundler: Bundler) -> None:
    (code / "requirements.txt").write_text("missing\n")

    assert names_in(bundler.bundle(code, "nodejs22.x")) == ["app.py", "requirements.txt"]
    assert names_in(bundler.bundle(code, RUNTIME, is_built=True)) == ["app.py", "requirements.txt"]


def test_installation_that_fails_tells_its_last_lines_and_leaves_the_cache_as_it_was(
    code: Path, bundler: Bundler
) -> None:
    (code / "requirements.txt").write_text("missing\n")

    with pytest.raises(UserError) as caught:
        bundler.bundle(code, RUNTIME)

    assert caught.value.what == (
        f"{code}/requirements.txt could not be installed. pip's last lines:\n"
        "  Collecting missing\n  ERROR: No matching distribution found for missing"
    )
    assert [path for path in bundler.cache.rglob("*") if path.is_file()] == []
    assert list((bundler.cache / "installed").iterdir()) == []


def test_layer_that_is_built_lies_in_its_folder(code: Path, bundler: Bundler) -> None:
    (code / "requirements.txt").write_text("package==1\n")

    found = names_in(bundler.bundle(code, RUNTIME, below="python/"))

    assert found == ["python/app.py", "python/package/__init__.py", "python/requirements.txt"]


def test_more_than_a_function_may_have_is_refused_in_awss_words(code: Path, bundler: Bundler) -> None:
    with (code / "large.bin").open("wb") as large:
        large.truncate(262_144_001)

    with pytest.raises(UserError, match=r"^Unzipped size must be smaller than 262144000 bytes"):
        bundler.bundle(code, RUNTIME)


def test_archive_is_taken_as_it_is_and_a_file_alone_is_packed(code: Path, bundler: Bundler) -> None:
    content = archive_of(files_of(code))
    given = code.parent / "given.zip"
    given.write_bytes(content)

    assert bundler.bundle(given, RUNTIME) == content
    assert names_in(bundler.bundle(code / "app.py", RUNTIME)) == ["app.py"]


def test_archive_that_is_none_is_refused(code: Path, bundler: Bundler) -> None:
    (code / "bad.zip").write_text("no archive")

    with pytest.raises(UserError, match="cannot be used as code"):
        bundler.bundle(code / "bad.zip", RUNTIME)


def test_code_that_is_not_there_is_refused_by_its_place(code: Path, bundler: Bundler) -> None:
    with pytest.raises(UserError, match=r"There is no .*nowhere, which the template names as code"):
        bundler.bundle(code / "nowhere", RUNTIME)
