"""The code of dataclasses, compiled once by an installation: Python makes six texts of each class, at each start.

Python compiles no module twice, but what a module makes of texts is compiled whenever it is imported: with 500 classes,
that took a fifth of a short proof. The compiled code is kept where Python keeps that of modules, by its text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

TEXTS_MAX = 10_000
"""With more texts, most are of earlier versions: those of this run alone are kept."""
_PACKAGE = Path(__file__).parents[1]
_DIGEST_BYTES = 32
_MODE = 0o644


@contextmanager
def compiled_once(name: str, folder: Path = _PACKAGE) -> Iterator[None]:
    """While entered, dataclasses are made of code that was compiled before, if a file of that name has it.

    Whoever imports the same modules each time uses one name. A file that is damaged, or of another Python, counts as
    none; without permission to write, nothing is kept.
    """
    if "exec" in vars(dataclasses):  # Somebody else has entered already.
        yield
        return
    made = _Made(_file(name, folder))
    vars(dataclasses)["exec"] = made.run
    try:
        yield
    finally:
        del vars(dataclasses)["exec"]
    made.keep()


class _Made:
    """What stands for `exec` in the module of dataclasses."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._used: dict[str, CodeType] = {}

    def run(self, text: str, globals: dict[str, object], locals: dict[str, object]) -> None:
        """Run the text of a function's definition, as `exec` does."""
        code = self._known.get(text)
        if code is None:
            code = compile(text, "<string>", "exec", dont_inherit=True)
        self._used[text] = code
        exec(code, globals, locals)  # noqa: S102 - as dataclasses does with the text.

    def keep(self) -> None:
        """Write down what was compiled, if anything was."""
        if self._used.keys() - self._known.keys() and not sys.dont_write_bytecode:
            is_old = len(self._known) + len(self._used) > TEXTS_MAX
            _write(self._file, self._used if is_old else self._known | self._used)

    @functools.cached_property
    def _known(self) -> dict[str, CodeType]:
        return _read(self._file)


def _file(name: str, folder: Path) -> Path:
    """Where Python keeps the compiled code of a module of that name in the folder."""
    return Path(importlib.util.cache_from_source(str(folder / f"dataclasses-of-{name}.py")))


def _read(file: Path) -> dict[str, CodeType]:
    try:
        content = file.read_bytes()
    except OSError:
        return {}
    magic = importlib.util.MAGIC_NUMBER
    start, payload = content[: len(magic) + _DIGEST_BYTES], content[len(magic) + _DIGEST_BYTES :]
    if start != magic + hashlib.sha256(payload).digest():
        return {}
    known: dict[str, CodeType] = marshal.loads(payload)  # noqa: S302 - beside the modules' own code, which is alike.
    return known


def _write(file: Path, known: dict[str, CodeType]) -> None:
    payload = marshal.dumps(known)
    with contextlib.suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(importlib.util.MAGIC_NUMBER + hashlib.sha256(payload).digest() + payload)
            Path(partial).chmod(_MODE)
            Path(partial).replace(file)
        except OSError:
            Path(partial).unlink(missing_ok=True)
            raise
