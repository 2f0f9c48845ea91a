"""The handler under proof: its code, and how a run gets it.

Named code (`module:handler`) is imported anew for each run: a new execution environment without any state of earlier
runs. A callable is used as it is, with all state of its module.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Protocol

from redrive.core.errors import UserError
from redrive.invoke.runtime.handlers import Handler, load_handler
from redrive.prove.process.memory import caches_open


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's code. `file` is relative to the root of the code, and `path` is where the file lies."""

    file: str
    line: int
    source: str
    path: Path

    @property
    def told(self) -> str:
        """`app.py:28: table.put_item(`, for the user."""
        return f"{self.file}:{self.line}: {self.source}"


Modules = dict[str, ModuleType]
"""The user's modules of one environment, by their names."""


class Subject(Protocol):
    """A handler that can be run many times."""

    @property
    def name(self) -> str:
        """`module:handler`."""
        ...

    @property
    def file(self) -> Path | None:
        """The file of its code, as far as there is one."""
        ...

    @property
    def places(self) -> Sequence[Path]:
        """The folders of its code."""
        ...

    def environment(self, modules: Modules | None = None) -> AbstractContextManager[Handler]:
        """While entered, the handler in an environment of its own. Errors: any exception of its module.

        With `modules`, the environment has these, if there are any, and leaves its modules in them.
        """
        ...

    def place(self) -> Place | None:
        """The innermost line of the user's code on the stack."""
        ...

    def told_line(self, file: str, line: int) -> str:
        """A line of a traceback for the user; empty if it is not in the user's code."""
        ...


class NamedSubject:
    """A function of a module that can be imported from a directory.

    `folders` are further ones with the user's code, such as layers; `packages` has what is imported from nowhere else.
    """

    def __init__(
        self, module: str, function: str, root: Path, folders: Sequence[Path] = (), packages: Path | None = None,
        changed: Mapping[Path, str] = MappingProxyType({}), told_from: Path | None = None,
    ) -> None:  # fmt: skip
        """`changed` are files whose text is another one than on the disk. Places are told from `told_from`, or else
        from the folder of the code.
        """
        self.name = f"{module}:{function}"
        self.root = root
        self.folders = tuple(folders)
        self.takes_list = False
        """Whether a pipe feeds it, which gives it a list of records."""
        self.guesses: Mapping[str, str] = {}
        """Where modules were found that the handler imports, for the user."""
        self._module = module
        self._function = function
        self._packages = packages
        self.places: Sequence[Path] = [place.resolve() for place in (root, *folders)]
        """The folders of the user's code."""
        self._told_from = told_from
        self._code = UserCode(*self.places, told_from=told_from)
        self._modules = _UserModules(self.places, packages, self._code.owns, changed)

    def changed(self, file: Path, text: str) -> NamedSubject:
        """The same handler with another text of a file."""
        changed = {file.resolve(): text}
        made = NamedSubject(
            self._module, self._function, self.root, self.folders, self._packages, changed, self._told_from
        )  # fmt: skip
        made.takes_list = self.takes_list
        return made

    def told_from(self, folder: Path) -> NamedSubject:
        """The same handler, whose places are told from a folder above its code."""
        made = NamedSubject(
            self._module, self._function, self.root, self.folders, self._packages, told_from=folder.resolve()
        )  # fmt: skip
        made.takes_list, made.guesses = self.takes_list, self.guesses
        return made

    def of_pipe(self) -> NamedSubject:
        """The same handler, which is given a list of records."""
        made = self.with_folders((), {})
        made.takes_list = True
        return made

    def with_folders(self, folders: Sequence[Path], guesses: Mapping[str, str]) -> NamedSubject:
        """The same handler with further folders, in which the modules were found that the guesses name."""
        found = NamedSubject(self._module, self._function, self.root, [*self.folders, *folders], self._packages)
        found.guesses = {**self.guesses, **guesses}
        found.takes_list = self.takes_list
        return found

    @contextmanager
    def environment(self, modules: Modules | None = None) -> Iterator[Handler]:
        """The module imported anew, with all modules beside it; restores the modules afterwards.

        The working directory is that of the code, as in Lambda: files beside it are opened by their names. With
        `modules`, those of an earlier run are there again, and those of this run are left there.
        """
        with self._modules.imported(modules), contextlib.chdir(self.root):
            with contextlib.nullcontext() if modules is None else caches_open(self._code.owns):
                handler = load_handler(f"{self._module}.{self._function}")
            if modules is not None:
                self._modules.tell(modules)
            yield handler

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """While entered, its modules are not imported: another function may have modules of the same names."""
        with self._modules.hidden():
            yield

    def place(self) -> Place | None:
        """The innermost line of a file under the root."""
        return self._code.place()

    def told_line(self, file: str, line: int) -> str:
        return self._code.told_line(file, line)

    @property
    def function(self) -> str:
        """The function's name in its module."""
        return self._function

    @property
    def file(self) -> Path:
        """The file of the module; it may not exist."""
        module = self.root.joinpath(*self._module.split("."))
        package = module / "__init__.py"
        return package if package.is_file() else module.with_suffix(".py")


class _UserModules(importlib.abc.MetaPathFinder):
    """The modules under some directories: found once, compiled once, and run at each import."""

    def __init__(
        self, places: Sequence[Path], packages: Path | None, owns: Callable[[str], bool], changed: Mapping[Path, str]
    ) -> None:
        self._changed = changed
        self._places = list(map(str, places))
        self._last = [] if packages is None else [str(packages)]
        self._owns = owns
        self._loaders: dict[str, _Loader | None] = {}

    def tell(self, modules: Modules) -> None:
        """Add those that are imported now."""
        names = [name for name, loader in self._loaders.items() if loader is not None]
        modules.update({name: sys.modules[name] for name in names if name in sys.modules})

    @contextmanager
    def imported(self, modules: Modules | None = None) -> Iterator[None]:
        """While entered, those are imported that are in `modules`; the earlier imports are restored afterwards."""
        hidden = self._taken_out()
        sys.modules.update(modules or {})
        sys.meta_path.insert(0, self)
        saved = list(sys.path)
        sys.path[:] = [*self._places, *saved, *self._last]
        try:
            yield
        finally:
            sys.path[:] = saved
            sys.meta_path.remove(self)
            left = self._taken_out()
            if modules is not None:
                modules.update(left)
            sys.modules.update(hidden)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """While entered, none of them is imported."""
        taken = self._taken_out()
        try:
            yield
        finally:
            sys.modules.update(taken)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module under the root; None leaves the module to the other finders."""
        if fullname not in self._loaders:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            is_own = spec is not None and spec.origin is not None and self._owns(spec.origin)
            origin = str(spec.origin) if spec is not None and is_own else ""
            text = self._changed.get(Path(origin).resolve())
            self._loaders[fullname] = _Loader(fullname, origin, text) if origin else None
        loader = self._loaders[fullname]
        return None if loader is None else loader.spec()

    def _taken_out(self) -> dict[str, ModuleType]:
        names = [name for name, loader in self._loaders.items() if loader is not None]
        return {name: sys.modules.pop(name) for name in names if name in sys.modules}


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a file once."""

    def __init__(self, fullname: str, path: str, text: str | None) -> None:
        super().__init__(fullname, path)
        self._text = text
        self._spec: importlib.machinery.ModuleSpec | None = None
        self._code: CodeType | None = None

    def spec(self) -> importlib.machinery.ModuleSpec | None:
        """The spec of the next import: a new spec for a package, which may change its search path."""
        if self._spec is None or self._spec.submodule_search_locations is not None:
            self._spec = importlib.util.spec_from_file_location(self.name, loader=self)
        return self._spec

    def get_code(self, fullname: str) -> CodeType | None:
        if self._code is None:
            data = self.get_data(self.path) if self._text is None else self._text.encode()
            self._code = self.source_to_code(data, self.path)
        return self._code


class GivenSubject:
    """A callable. Its module is not imported again: its state between runs stays."""

    def __init__(self, handler: Handler) -> None:
        module = str(getattr(handler, "__module__", "handler"))
        self.name = f"{module}:{getattr(handler, '__qualname__', repr(handler))}"
        self._handler = handler
        file = inspect.getsourcefile(inspect.unwrap(handler)) if inspect.isroutine(handler) else None
        self.file = Path(file) if file else None
        self.places: Sequence[Path] = (Path(file or ".").resolve().parent,)
        self._code = UserCode(*self.places)

    def environment(self, modules: Modules | None = None) -> AbstractContextManager[Handler]:
        """The callable."""
        return contextlib.nullcontext(self._handler)

    def place(self) -> Place | None:
        """The innermost line of a file beside the callable's own."""
        return self._code.place()

    def told_line(self, file: str, line: int) -> str:
        return self._code.told_line(file, line)


class UserCode:
    """The files under some directories that are the user's own."""

    def __init__(self, *places: Path, told_from: Path | None = None) -> None:
        self._places = places
        self._told_from = places if told_from is None else (told_from, *places)
        self._bundled = frozenset(name for place in places for name in _bundled(place))
        self._own = Path(__file__).resolve().parents[1]
        self.owns = functools.cache(self._owns)
        self._place_of = functools.cache(self._placed)

    def place(self) -> Place | None:
        """The innermost line on the stack that is in one of these files."""
        frame = inspect.currentframe()
        while frame is not None and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return None
        return self._place_of(frame.f_code.co_filename, frame.f_lineno)

    def told_line(self, file: str, line: int) -> str:
        """A line in one of these files, for the user; otherwise empty."""
        return self._place_of(file, line).told if self.owns(file) else ""

    def _placed(self, file: str, line: int) -> Place:
        source = linecache.getline(file, line).strip()
        told = _beneath(file, self._told_from) or Path(file)
        return Place(told.as_posix(), line, source, Path(file).absolute())

    def _owns(self, file: str) -> bool:
        beneath = _beneath(file, self._places)
        if beneath is None or Path(file).resolve().is_relative_to(self._own):
            return False
        installed = {"site-packages", "dist-packages"} & {*Path(file).absolute().parts}
        return not installed and beneath.suffix == ".py" and beneath.parts[0] not in self._bundled


def _beneath(file: str, places: Sequence[Path]) -> Path | None:
    """The file's path below a place: by its name, which may be a link out of the folder, or by its real path."""
    for path in (Path(file).absolute(), Path(file).resolve()):
        for place in places:
            if path.is_relative_to(place):
                return path.relative_to(place)
    return None


def _bundled(place: Path) -> Iterator[str]:
    """The names of modules that pip has installed into a folder of code, as a build does."""
    for record in place.glob("*.dist-info/RECORD"):
        for line in record.read_text("utf-8", errors="replace").splitlines():
            yield line.partition(",")[0].partition("/")[0]


def subject_of(name: str, root: Path, *, imports: Path | None = None) -> NamedSubject:
    """The handler that `module:function`, `path/to/file.py:function` or Lambda's `module.function` names.

    For a file, its own folder is the root for its imports; the folder above its package, if it imports relatively or by
    the package's name; or `imports`, if that is given. Errors: UserError.
    """
    module, colon, function = name.partition(":")
    if not colon:
        module, _, function = name.rpartition(".")
    if not module or not function:
        raise UserError(
            f"{name!r} names no handler.", next_step="Write it as module:function, as in app:handler.", exit_code=2
        )
    if module.endswith(".py"):
        file = root / module
        if not file.is_file():
            raise UserError(f"There is no file {file}.", next_step="Write it as path/to/file.py:handler.", exit_code=2)
        return _subject_of_file(file, function, imports, root)
    return NamedSubject(module.replace("/", "."), function, root if imports is None else imports)


def _subject_of_file(file: Path, function: str, imports: Path | None, project: Path) -> NamedSubject:
    top = file.parent if imports is None else imports
    if imports is None and _imports_its_package(file):
        while (top / "__init__.py").is_file():
            top = top.parent
    if not file.resolve().is_relative_to(top.resolve()):
        raise UserError(
            f"The file {file} does not lie in {top}.", next_step="Give a folder above it with --root.", exit_code=2
        )  # fmt: skip
    words = file.resolve().relative_to(top.resolve()).with_suffix("").parts
    # What lies beside the file can be imported as well, as where its folder is the root.
    beside = [] if top.resolve() == file.parent.resolve() else [file.parent]
    above = _folders_above(file, top, project) if imports is None else []
    return NamedSubject(".".join(words), function, top, [*beside, *above])


def _folders_above(file: Path, top: Path, project: Path) -> list[Path]:
    """The folders between a file and its project's that have what it imports, and its own folder has not."""
    found = []
    folder = top.resolve()
    names = {name.partition(".")[0] for name in _absolute_imports(file)} - sys.stdlib_module_names
    while folder != project.resolve() and folder.is_relative_to(project.resolve()):
        names = {name for name in names if not _has_module(folder, name)}
        folder = folder.parent
        if any(_has_module(folder, name) for name in names):
            found.append(folder)
    return found


def _has_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


def _imports_its_package(file: Path) -> bool:
    """Whether a file in a package can be imported from above that package only."""
    if not (file.parent / "__init__.py").is_file():
        return False
    top = file.resolve().parent
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    nodes = _nodes_of(file)
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level for node in nodes)
    return is_relative or any(name.partition(".")[0] == top.name for name in _absolute_imports(file))


def _absolute_imports(file: Path) -> set[str]:
    nodes = _nodes_of(file)
    names = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return names | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


def _nodes_of(file: Path) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(file.read_text("utf-8"))))
    except (OSError, ValueError, SyntaxError):
        return []
