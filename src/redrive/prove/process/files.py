"""Files of the handler: each environment has a /tmp that is empty at first, and nothing else can be written to.

A new execution environment has an empty /tmp, and all else of a function's file system is read-only. So paths under
/tmp are led into a folder that is deleted when the run ends, and a write anywhere else is refused with the error that
Lambda gives: a handler under proof never overwrites a file of the user's. Files of code and of libraries are read where
they are, also under /tmp. What other processes and compiled libraries write is not seen.

Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import importlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from redrive.prove.process.imports import taken_over
from redrive.prove.process.surroundings import replaced

TEMPORARY = "/tmp"  # noqa: S108 - as functions have it.
_DEVICES = "/dev"
_LOOKS = ("access", "listdir", "lstat", "readlink", "scandir", "stat")
_WRITES = ("chmod", "chown", "mkdir", "mkfifo", "remove", "rmdir", "truncate", "unlink", "utime")
_BOTH = ("link", "rename", "replace", "symlink")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Function(Protocol):
    def __call__(self, *arguments: object, **named: object) -> object: ...


class Files:
    """The /tmp of each run."""

    def __init__(self, run: Callable[[], int | None], told: Callable[[str, str], None]) -> None:
        """`run` is the number of the run whose code is running, None for any other code; `told` receives warnings."""
        self._run = run
        self._told = told
        self._folders: dict[int, str] = {}
        self._place: str | None = None
        """The folder of all of them."""
        self._looked: dict[int, set[str]] = {}
        self._code: tuple[str, ...] = ()
        self._temporary: tuple[str, ...] = (TEMPORARY,)
        self._remove_really = shutil.rmtree
        self._is_busy = False

    @contextmanager
    def entered(self, code: Sequence[Path]) -> Iterator[None]:
        """While entered, paths of the handler's are led elsewhere. `code` are the folders of its code.

        The folder of the project is one of them, if code lies in it.
        """
        self._temporary = tuple(dict.fromkeys((tempfile.gettempdir(), TEMPORARY)))
        own = [str(folder.resolve()) for folder in code]
        own += [project for project in (os.getcwd(),) if any(_is_within(one, project) for one in own)]  # noqa: PTH109
        places = {*own, sys.prefix, sys.base_prefix, *sys.path}
        self._code = tuple(places - {"", *self._temporary})
        transfer = importlib.import_module("s3transfer.utils")
        removes = os.unlink
        with contextlib.ExitStack() as stack:
            # Made before a search has processes: those are killed, and leave their folders in this one.
            folder = tempfile.TemporaryDirectory(prefix="redrive-prove-tmp-", ignore_cleanup_errors=True)
            self._place = stack.enter_context(folder)
            opened = self._opening(builtins.open)  # type: ignore[arg-type] # It is called as it was.
            stack.enter_context(replaced(builtins, "open", opened))
            stack.enter_context(replaced(io, "open", opened))
            stack.enter_context(replaced(os, "open", self._opening_by_flags(os.open)))  # type: ignore[arg-type]
            for name in _LOOKS:
                stack.enter_context(replaced(os, name, self._at_one(getattr(os, name), is_write=False)))
            for name in _WRITES:
                stack.enter_context(replaced(os, name, self._at_one(getattr(os, name), is_write=True)))
            for name in _BOTH:
                stack.enter_context(replaced(os, name, self._at_two(getattr(os, name), name)))
            stack.enter_context(replaced(transfer, "rename_file", os.rename))
            # aiofiles keeps what it has imported, of this search or of an earlier one.
            kept = {"aiofiles.threadpool": lambda module: replaced(module, "sync_open", opened), "aiofiles.os": _of_os}
            stack.enter_context(taken_over(kept))
            for function, defaults in _kept_removals(removes):
                stack.enter_context(replaced(function, "__defaults__", defaults))
            stack.callback(self._forget_all)
            yield

    def contents(self, run: int) -> Mapping[str, bytes]:
        """The files under /tmp at the end of a run, by their paths there."""
        folder = self._folders.get(run)
        with self._busy():
            found = () if folder is None else sorted(Path(folder).rglob("*"))
            return {one.relative_to(folder or "").as_posix(): one.read_bytes() for one in found if one.is_file()}

    def put_back(self, run: int, contents: Mapping[str, bytes]) -> None:
        """Have a run begin with these files under /tmp: its environment was used before."""
        for name, content in contents.items():
            file = Path(self._folder(run)) / name
            with self._busy():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

    def end(self, run: int) -> None:
        """A run has ended, however: its environment is gone."""
        self._looked.pop(run, None)
        folder = self._folders.pop(run, None)
        if folder is not None:
            self._remove_really(folder, ignore_errors=True)

    def _forget_all(self) -> None:
        for run in list(self._folders):
            self.end(run)

    def _opening(self, really: _Function) -> _Function:
        def opened(*arguments: object, **named: object) -> object:
            file, *others = arguments or (named.pop("file"),)
            mode = str(others[0] if others else named.get("mode", "r"))
            return really(self._led(file, is_write=bool(set(mode) & set("wax+"))), *others, **named)

        return opened

    def _opening_by_flags(self, really: _Function) -> _Function:
        def opened(*arguments: object, **named: object) -> object:
            path, *others = arguments or (named.pop("path"),)
            flags = cast("int", others[0] if others else named.get("flags", 0))
            if named.get("dir_fd") is not None:
                return really(path, *others, **named)
            return really(self._led(path, is_write=bool(flags & _WRITING)), *others, **named)

        return opened

    def _at_one(self, really: _Function, *, is_write: bool) -> _Function:
        def call(*arguments: object, **named: object) -> object:
            path, *others = arguments or (named.pop("path", "."),)
            if named.get("dir_fd") is not None:
                return really(path, *others, **named)
            return really(self._led(path, is_write=is_write), *others, **named)

        return call

    def _at_two(self, really: _Function, name: str) -> _Function:
        moves = name in {"rename", "replace"}

        def call(*arguments: object, **named: object) -> object:
            one = arguments[0] if arguments else named.pop("src")
            other = arguments[1] if len(arguments) > 1 else named.pop("dst")
            source = one if name == "symlink" else self._led(one, is_write=moves)
            return really(source, self._led(other, is_write=True), *arguments[2:], **named)

        return call

    def _led(self, path: object, *, is_write: bool) -> object:
        """Where a path of the handler's leads. Errors: OSError if it may not be written to."""
        if self._is_busy or not isinstance(path, str | bytes | os.PathLike):
            return path
        run = self._run()
        if run is None:
            return path
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - Path.resolve would follow links.
        folder = self._folders.get(run)
        if name.startswith(f"{_DEVICES}/") or (folder is not None and _is_within(name, folder)):
            return path
        temporary = next((one for one in self._temporary if _is_within(name, one)), None)
        code = max((one for one in self._code if _is_within(name, one)), key=len, default="")
        if temporary is None or len(code) > len(temporary):
            if not is_write:
                return path
            self._told(f"file {name}", "not written: a function can write to /tmp alone")
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)
        self._note(run, name, is_write=is_write)
        led = f"{self._folder(run)}/{os.path.relpath(name, temporary)}"
        return os.fsencode(led) if isinstance(path, bytes) else led

    def _note(self, run: int, name: str, *, is_write: bool) -> None:
        """Warn of a file that is looked at before it is written: a warm environment has it, and a new one has not."""
        looked = self._looked.setdefault(run, set())
        if not is_write:
            looked.add(name)
        elif name in looked:
            self._told(
                f"file {name}",
                "absent in a new environment: the handler looks at it before it writes it. An environment that is used "
                "again keeps it, another one never has it",
            )

    def _folder(self, run: int) -> str:
        if run not in self._folders:
            with self._busy():
                self._folders[run] = tempfile.mkdtemp(prefix=f"run-{run}-", dir=self._place)
        return self._folders[run]

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """While entered, no path is led elsewhere: these files are not the handler's own doing."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False


@contextmanager
def _of_os(module: ModuleType) -> Iterator[None]:
    """While entered, the functions that aiofiles has of `os` are those that `os` has now."""
    with contextlib.ExitStack() as stack:
        for name in (*_LOOKS, *_WRITES, *_BOTH):
            if hasattr(module, name):
                stack.enter_context(replaced(module, name, module.wrap(getattr(os, name))))
        yield


def _kept_removals(removes: object) -> Iterator[tuple[object, tuple[object, ...]]]:
    """The functions of `tempfile` that keep `os.unlink` as a default, and their defaults with what it is now."""
    for function in vars(getattr(tempfile, "_TemporaryFileCloser", object)).values():
        defaults = getattr(function, "__defaults__", None) or ()
        if removes in defaults:
            yield function, tuple(os.unlink if one is removes else one for one in defaults)


def _is_within(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder.rstrip("/") + "/")
