"""The handler under proof: where its code is, and how a run comes by it.

Code that is named (`module:handler`) is imported anew for each run: a new execution environment, in which nothing is
left of earlier runs. A callable is taken as it is, with whatever its module remembers.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from redrive.core.errors import UserError

Handler = Callable[[object, object], object]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's code. `file` is relative to where the code begins."""

    file: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Subject(Protocol):
    """A handler that can be run many times."""

    @property
    def name(self) -> str:
        """`module:handler`."""
        ...

    def environment(self) -> AbstractContextManager[Handler]:
        """The handler in an environment of its own, while inside. Errors: whatever its module raises."""
        ...

    def place(self) -> Place | None:
        """The innermost line of the user's code that is being run now."""
        ...


class NamedSubject:
    """A function of a module that can be imported from a directory."""

    def __init__(self, module: str, function: str, root: Path) -> None:
        self.name = f"{module}:{function}"
        self.root = root.resolve()
        self._module = module
        self._function = function
        self._code = UserCode(self.root)

    @contextmanager
    def environment(self) -> Iterator[Handler]:
        """The module imported anew, with all modules beside it; afterwards the modules are as before."""
        before = {name: module for name, module in sys.modules.items() if self._is_user_module(name)}
        for name in before:
            del sys.modules[name]
        sys.path.insert(0, str(self.root))
        try:
            handler: Handler = getattr(importlib.import_module(self._module), self._function)
            yield handler
        finally:
            with contextlib.suppress(ValueError):
                sys.path.remove(str(self.root))
            for name in [name for name in sys.modules if self._is_user_module(name)]:
                del sys.modules[name]
            sys.modules.update(before)

    def place(self) -> Place | None:
        """The innermost line of a file under the root."""
        return self._code.place()

    def _is_user_module(self, name: str) -> bool:
        file = getattr(sys.modules.get(name), "__file__", None)
        return isinstance(file, str) and name != "__main__" and self._code.owns(file)


class GivenSubject:
    """A callable. Its module is not imported again: what it remembers between runs stays."""

    def __init__(self, handler: Handler) -> None:
        module = str(getattr(handler, "__module__", "handler"))
        self.name = f"{module}:{getattr(handler, '__qualname__', repr(handler))}"
        self._handler = handler
        file = inspect.getsourcefile(inspect.unwrap(handler)) if inspect.isroutine(handler) else None
        self._code = UserCode(Path(file or ".").resolve().parent)

    def environment(self) -> AbstractContextManager[Handler]:
        """The callable."""
        return contextlib.nullcontext(self._handler)

    def place(self) -> Place | None:
        """The innermost line of a file beside the callable's own."""
        return self._code.place()


class UserCode:
    """The files under a directory that are the user's own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own = Path(__file__).resolve().parents[1]
        self.owns = functools.cache(self._owns)

    def place(self) -> Place | None:
        """The innermost line that is being run now in one of these files."""
        frame = inspect.currentframe()
        while frame is not None and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return None
        file = frame.f_code.co_filename
        source = linecache.getline(file, frame.f_lineno).strip()
        return Place(Path(file).resolve().relative_to(self._root).as_posix(), frame.f_lineno, source)

    def _owns(self, file: str) -> bool:
        path = Path(file).resolve()
        if not path.is_relative_to(self._root) or path.is_relative_to(self._own):
            return False
        return not {"site-packages", "dist-packages"} & set(path.parts) and path.suffix == ".py"


def subject_of(name: str, root: Path) -> NamedSubject:
    """The handler that `module:function`, or Lambda's `module.function`, names. Errors: UserError."""
    module, colon, function = name.partition(":")
    if not colon:
        module, _, function = name.rpartition(".")
    if not module or not function:
        raise UserError(
            f"{name!r} names no handler.", next_step="Write it as module:function, as in app:handler.", exit_code=2
        )
    return NamedSubject(module.replace("/", "."), function, root)
