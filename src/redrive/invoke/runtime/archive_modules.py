"""Imports modules from a zip archive without unpacking it, separate from this process's own modules."""

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

from redrive.invoke.sandbox.unpack import UnusableCode

TASK_ROOT, OPT_ROOT = "/var/task", "/opt"
SEARCHED = (
    TASK_ROOT,
    f"{OPT_ROOT}/python/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages",
    f"{OPT_ROOT}/python",
)
"""The search path: the function's own archive, then its layers."""


class ArchiveModules(importlib.abc.MetaPathFinder):
    """The modules of one archive. Other code can import them only while `imported` is entered."""

    def __init__(self, archive: bytes, layers: Sequence[bytes] = ()) -> None:
        """Read the archive and those of the layers; a file of a later layer replaces that of an earlier.

        Errors: UnusableCode.
        """
        self._files: dict[str, bytes] = {}
        for root, content in ((TASK_ROOT, archive), *((OPT_ROOT, layer) for layer in layers)):
            self._files.update(_read(root, content))
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def imported(self) -> Iterator[None]:
        """Let imports search this archive first; restore the earlier state afterwards."""
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
        """The spec of a module in this archive; None leaves the module to the other finders."""
        return next(filter(None, (self._find_in(root, fullname) for root in SEARCHED)), None)

    def _find_in(self, root: str, fullname: str) -> importlib.machinery.ModuleSpec | None:
        place = f"{root}/{fullname.replace('.', '/')}"
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
        """Whether a module's top-level package is in the archive."""
        places = [f"{root}/{module.partition('.')[0]}" for root in SEARCHED]
        starts = tuple(f"{place}/" for place in places)
        return any(f"{place}.py" in self._files for place in places) or any(
            name.startswith(starts) for name in self._files
        )


def _read(root: str, archive: bytes) -> dict[str, bytes]:
    """The files of an archive below a folder, by path. Errors: UnusableCode."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as content:
            return {f"{root}/{name}": content.read(name) for name in content.namelist() if not name.endswith("/")}
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise UnusableCode(f"Could not unzip uploaded file: {error}") from error


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
