"""A repository at its commit, in a temporary folder: from a folder of mirrors, or from GitHub."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.handlers.listed import Listed

CLONE_S_MAX = 600
GIT = (
    "git", "-c", "advice.detachedHead=false", "-c", "core.hooksPath=/dev/null", "-c", "filter.lfs.smudge=",
    "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false", "-c", "protocol.file.allow=always",
)  # fmt: skip
"""No hook and no filter of the machine takes part."""


class NoRepository(Exception):
    """The repository, or the commit in it, is not to be had."""


@contextmanager
def checked_out(handler: Listed, mirrors: Path | None) -> Iterator[Path]:
    """A folder with the files of the handler's repository at its commit. Errors: NoRepository.

    `mirrors` holds git directories named OWNER+NAME; without it the commit is fetched from the repository itself.
    """
    with TemporaryDirectory(prefix="redrive-handlers-") as temporary:
        folder = Path(temporary, handler.owner_and_name[1])
        if mirrors is None:
            _git(Path(temporary), "init", "--quiet", str(folder))
            _git(folder, "fetch", "--quiet", "--depth", "1", handler.repository, handler.commit)
        else:
            _git(
                Path(temporary),
                "clone",
                "--quiet",
                "--shared",
                "--no-checkout",
                str(_mirror(mirrors, handler)),
                folder.name,
            )
        _git(folder, "checkout", "--quiet", "--force", handler.commit, may_lack_files=True)
        if not (folder / handler.path).is_file():
            raise NoRepository(f"commit {handler.commit} has no file {handler.path}")
        yield folder


def tidied(folder: Path) -> None:
    """Takes back what a run has left in the files of the repository."""
    _git(folder, "clean", "--quiet", "-ffdx")
    _git(folder, "checkout", "--quiet", "--force", may_lack_files=True)


def _mirror(mirrors: Path, handler: Listed) -> Path:
    folder = mirrors / "+".join(handler.owner_and_name)
    for place in (folder, folder / ".git", folder / "repo", folder / "repo" / ".git"):
        if (place / "HEAD").is_file() and (place / "objects").is_dir():
            return place.resolve()
    raise NoRepository(f"{mirrors} has no git directory {folder.name}")


def _git(folder: Path, *arguments: str, may_lack_files: bool = False) -> None:
    """Runs git. `may_lack_files`: mirrors may lack their largest files; git checks out the rest."""
    git = shutil.which("git")
    if git is None:
        raise NoRepository("git is not installed")
    try:
        subprocess.run(  # noqa: S603 - a fixed program; the arguments are those of the list
            [git, *GIT[1:], *arguments],
            cwd=folder,
            check=not may_lack_files,
            capture_output=True,
            text=True,
            timeout=CLONE_S_MAX,
        )
    except subprocess.CalledProcessError as error:
        raise NoRepository(f"git {arguments[0]}: {error.stderr.strip()}") from error
