"""Makes the archive of a function's code from a directory, a file or an archive."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.archives import BadArchive, sound_entries
from redrive.core.errors import UserError
from redrive.invoke.keeping import Say
from redrive.invoke.runtime.npm import MODULES, Npm
from redrive.packaging.files import LEFT_OUT_OF_PACKAGES, archive_of, check_size, digest_of, files_of
from redrive.packaging.installer import Interpreter, installed
from redrive.packaging.node import bundled, dependencies, module_files, with_sdk

REQUIREMENTS = "requirements.txt"
_ARCHIVES = (".zip", ".jar")


@dataclass(frozen=True, slots=True)
class Bundler:
    """Makes bundles, and caches them under `cache` by their content."""

    cache: Path
    interpreter_for: Callable[[str], Interpreter]
    say: Say
    npm: tuple[str, ...] = ("npm",)

    def bundle(
        self, source: Path, runtime: str, *, below: str = "", is_built: bool = False,
        esbuild: Mapping[str, object] | None = None,
    ) -> bytes:  # fmt: skip
        """The archive of a function's code, or with `below` of a layer: all lies in that folder of it.

        A directory with a requirements.txt or a package.json gets what that asks for, unless `is_built`: another tool
        has done that. `esbuild` has properties by which the code is built first.
        Errors: UserError (nothing there; the installation fails; too large).
        """
        if source.is_file() and source.suffix in _ARCHIVES:
            return self._given(source)
        if source.is_file():
            return archive_of({source.name: source})
        if not source.is_dir():
            raise UserError(
                f"There is no {source}, which the template names as code.",
                next_step="Paths in a template start from the template's directory.", exit_code=2,
            )  # fmt: skip
        if runtime.startswith("nodejs"):
            files = self._node_files(source, runtime, is_built=is_built, esbuild=esbuild)
        else:
            files = self._files(source, runtime, is_built=is_built)
        files = {f"{below}{name}": path for name, path in files.items()}
        if not files:
            raise UserError(f"The directory {source}, which the template names as code, is empty.", exit_code=2)
        check_size(files, str(source))
        return self._archived(files, source)

    def _files(self, source: Path, runtime: str, *, is_built: bool) -> dict[str, Path]:
        """The files of a directory, with what its requirements.txt asks for."""
        files = files_of(source)
        requirements = source / REQUIREMENTS
        if is_built or not runtime.startswith("python") or not requirements.is_file() or not _asks(requirements):
            return files
        place = installed(requirements, self.interpreter_for(runtime), self.cache, say=self.say)
        return files_of(place, LEFT_OUT_OF_PACKAGES) | files  # What the directory has itself wins.

    def _node_files(
        self, source: Path, runtime: str, *, is_built: bool, esbuild: Mapping[str, object] | None
    ) -> dict[str, Path]:
        """The same of Node.js code, with the SDK of AWS that the code uses: on AWS the runtime has it."""
        npm = Npm(self.npm, self.cache, self.say)
        modules = None if is_built else dependencies(npm, source)
        if esbuild is None:
            files = module_files(modules) | files_of(source)
        else:
            own = source / MODULES
            files = files_of(bundled(source, modules or (own if own.is_dir() else None), esbuild, npm))
        return with_sdk(files, runtime, npm)

    def _archived(self, files: dict[str, Path], source: Path) -> bytes:
        kept = self.cache / "bundles" / f"{digest_of(dict(sorted(files.items())))}.zip"
        try:
            return kept.read_bytes()
        except OSError:
            pass
        self.say(f"packing {source}: {len(files)} files")
        content = archive_of(files)
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{hashlib.sha256(str(source).encode()).hexdigest()[:8]}")
        partial.write_bytes(content)
        partial.replace(kept)
        return content

    def _given(self, source: Path) -> bytes:
        content = source.read_bytes()
        try:
            sound_entries(content)
        except BadArchive as error:
            raise UserError(f"{source} cannot be used as code: {error}.", exit_code=2) from error
        return content


def _asks(requirements: Path) -> bool:
    """Whether a requirements.txt has any requirement."""
    lines = requirements.read_text("utf-8", errors="replace").splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)
