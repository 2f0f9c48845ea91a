"""Libraries that are taken over when the user's code imports them, or at once if they are imported already."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType

TakeOver = Callable[[ModuleType], AbstractContextManager[None]]


@contextmanager
def taken_over(libraries: Mapping[str, TakeOver]) -> Iterator[None]:
    """While entered, these modules are taken over, by their names. None needs to be installed."""
    with contextlib.ExitStack() as stack:

        def take(module: ModuleType) -> None:
            stack.enter_context(libraries[module.__name__](module))

        watch = Imports(libraries, take)
        for name in libraries:
            if name in sys.modules:
                take(sys.modules[name])
        sys.meta_path.insert(0, watch)
        stack.callback(sys.meta_path.remove, watch)
        yield


class Imports(importlib.abc.MetaPathFinder):
    """Finds some modules as Python does, and tells when one was imported."""

    def __init__(self, names: Container[str], take: Callable[[ModuleType], None]) -> None:
        self._names, self._take = names, take

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of one of the modules; None leaves any other module to the other finders."""
        if fullname not in self._names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            run_really, take = spec.loader.exec_module, self._take

            def run(module: ModuleType) -> None:
                run_really(module)
                take(module)

            spec.loader.exec_module = run  # type: ignore[method-assign]
        return spec
