"""Modules of the project that lie elsewhere in it than beside the handler: in a layer, or in shared code of a build.

Of the folders that have such a module, those next to the handler come first: below its own folder, then below the
folder above, and so on to the project's. Where there is only one, and it has the names that are imported, it is taken,
and the user is told. Where there are several, nobody knows which one a build takes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from redrive.prove.guess.reading import parsed
from redrive.prove.process.subject import NamedSubject
from redrive.prove.project.packages import folders_below, missing_modules, shortly

_ROUNDS_MAX = 8
"""How often the modules that were found are looked at for further ones."""
_FOLDERS_MAX = 20_000
_CODE = re.compile(r"[A-Za-z_]\w*")


def with_modules_elsewhere(subject: NamedSubject) -> NamedSubject:
    """The handler with the folders of the project in which the modules lie that it imports and nobody finds."""
    for _ in range(_ROUNDS_MAX):
        folders = (subject.root, *subject.folders)
        missing = missing_modules(subject.file, folders)
        if not missing:
            return subject
        found = {name: folder for name in missing if (folder := _only_folder(name, subject)) is not None}
        if not found:
            return subject
        guesses = {
            f"module {name}": f"{shortly(folder)}, because no folder nearer to the handler has it"
            for name, folder in found.items()
        }
        subject = subject.with_folders(list(dict.fromkeys(found.values())), guesses)
    return subject


def _only_folder(name: str, subject: NamedSubject) -> Path | None:
    """The only folder that has a module, among those next to the handler; None if there is none, or several."""
    wanted = _imported_names(name, subject)
    seen: set[Path] = set()
    number = 0
    for top in _tops(subject.file):
        having: list[Path] = []
        for folder in folders_below(top, without=seen):
            number += 1
            if number > _FOLDERS_MAX:
                return None
            if _has(folder, name, wanted):
                having.append(folder)
        if having:
            return having[0] if len(having) == 1 else None
        seen.add(top)
    return None


def _tops(file: Path) -> Iterator[Path]:
    """The folders of a file, from its own to that of its repository, or the working directory without one."""
    folder = file.resolve().parent
    repository = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    project = Path.cwd().resolve()
    last = repository or (project if folder.is_relative_to(project) else folder)
    while True:
        yield folder
        if folder in {last, folder.parent}:
            return
        folder = folder.parent


def _has(folder: Path, name: str, wanted: frozenset[str]) -> bool:
    """Whether a folder has a module with the names that are imported from it: its own, or modules in it."""
    file, package = folder / f"{name}.py", folder / name
    if file.is_file():
        return wanted <= set(_CODE.findall(_text(file)))
    if not package.is_dir() or not any(package.glob("*.py")):
        return False
    init = package / "__init__.py"
    inside = {one.stem for one in package.glob("*.py")} | {one.name for one in package.iterdir() if one.is_dir()}
    return wanted <= inside | set(_CODE.findall(_text(init))) or "*" in _text(init)


def _imported_names(name: str, subject: NamedSubject) -> frozenset[str]:
    """What the handler's own files import from a module: names, or modules in it."""
    names: set[str] = set()
    for file in _files(subject):
        tree = parsed(file)
        for node in () if tree is None else ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                first, _, rest = node.module.partition(".")
                if first == name:
                    names |= {rest.partition(".")[0]} if rest else {alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                dotted = [alias.name.split(".") for alias in node.names]
                names |= {words[1] for words in dotted if words[0] == name and len(words) > 1}
    return frozenset(names - {"*"})


def _files(subject: NamedSubject) -> Sequence[Path]:
    return [subject.file, *(file for folder in subject.folders for file in sorted(folder.glob("*.py")))]


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
