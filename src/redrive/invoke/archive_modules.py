"""Modules out of a zip archive, imported without unpacking it, and kept apart from this process's own."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import io
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from redrive.invoke.unpack import UnusableCode

TASK_ROOT = "/var/task"


class ArchiveModules(importlib.abc.MetaPathFinder):
    """The modules of one archive. They exist for other code only while `imported` is entered."""

    def __init__(self, archive: bytes) -> None:
        """Read the archive. Errors: UnusableCode."""
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as content:
                self._files = {
                    f"{TASK_ROOT}/{name}": content.read(name) for name in content.namelist() if not name.endswith("/")
                }
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise UnusableCode(f"Could not unzip uploaded file: {error}") from error
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def imported(self) -> Iterator[None]:
        """Let imports find this archive first; afterwards everything is as it was."""
        hidden = {name: module for name, module in sys.modules.items() if self._holds(name)}
        for name in hidden:
            del sys.modules[name]
        sys.modules.update(self._modules)
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            self._modules = {name: module for name, module in sys.modules.items() if self._holds(name)}
            for name in self._modules:
                del sys.modules[name]
            sys.modules.update(hidden)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where a module of this archive is; None leaves it to the other finders."""
        place = f"{TASK_ROOT}/{fullname.replace('.', '/')}"
        for filename, is_package in ((f"{place}/__init__.py", True), (f"{place}.py", False)):
            if filename in self._files:
                loader = _Loader(self._files, filename)
                spec = importlib.util.spec_from_file_location(fullname, filename, loader=loader)
                if spec is not None and is_package:
                    spec.submodule_search_locations = [place]
                return spec
        if any(filename.startswith(f"{place}/") for filename in self._files):
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [place]
            return spec
        return None

    def _holds(self, module: str) -> bool:
        """Whether a module's outermost package is one of the archive's."""
        place = f"{TASK_ROOT}/{module.partition('.')[0]}"
        return f"{place}.py" in self._files or any(name.startswith(f"{place}/") for name in self._files)


class _Loader(importlib.abc.SourceLoader):
    """Reads one module's source."""

    def __init__(self, files: dict[str, bytes], filename: str) -> None:
        self._files = files
        self._filename = filename

    def get_filename(self, fullname: str) -> str:
        return self._filename

    def get_data(self, path: str | bytes) -> bytes:
        name = path if isinstance(path, str) else path.decode()
        try:
            return self._files[name]
        except KeyError as error:
            raise OSError(f"the archive has no {name}") from error
