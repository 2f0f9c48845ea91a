"""Code of functions that does not lie where a template has it: an archive that a build makes, or a wrong path.

Of the files of the project that have the handler, that one is taken whose folders share most words with what the
template says of the function; of two that share as many, none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from redrive.prove.guess.reading import parsed
from redrive.prove.project.choosing import module_of
from redrive.prove.project.functions import ProjectFunction
from redrive.prove.project.packages import folders_below, shortly

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_USUAL = frozenset(
    {"lambda", "function", "functions", "lambdas", "src", "code", "package", "build", "dist", "zip", "tf"}
)
"""Words that say nothing of one function among others."""
_FOLDERS_MAX = 5_000


def placed(functions: Sequence[ProjectFunction], template: Path) -> dict[str, Path]:
    """The folders of functions in Python whose code is not where the template has it, by logical id.

    Of several functions that would have the same folder, those have it that share most words with it.
    """
    lost = [one for one in functions if one.is_python and _is_lost(one)]
    if not lost:
        return {}
    project = _project(template)
    folders = [folder for folder, _ in zip(folders_below(project), range(_FOLDERS_MAX), strict=False)]
    found: dict[str, Path] = {}
    scores: dict[str, int] = {}
    for one in lost:
        place = _place(one, folders, project)
        if place is not None:
            found[one.logical_id] = place
            scores[one.logical_id] = _score(one, place, project)
    return {
        name: place
        for name, place in found.items()
        if scores[name] == max(scores[other] for other, taken in found.items() if taken == place)
        and (scores[name] > 0 or [*found.values()].count(place) == 1)
    }


def told(logical_id: str, place: Path, template: Path) -> tuple[str, str]:
    """What is told of a function whose code was found elsewhere."""
    return f"code of {logical_id}", f"{shortly(place)}, because it is not where {shortly(template)} has it"


def _is_lost(function: ProjectFunction) -> bool:
    if function.is_inline or function.is_image or "." not in function.handler:
        return False
    if function.code is None or not function.code.exists():
        return True
    module = module_of(function)
    return module is not None and not module.is_file() and not module.with_suffix("").is_dir()


def _project(template: Path) -> Path:
    """The folder in which code is looked for: that of the repository, or where the command runs."""
    folder, here = template.resolve().parent, Path.cwd().resolve()
    repository = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    return repository or (here if folder.is_relative_to(here) else folder)


def _place(function: ProjectFunction, folders: Sequence[Path], project: Path) -> Path | None:
    """The folder with the function's module, of all folders; None if there is none, or nobody knows which."""
    module, _, name = function.handler.rpartition(".")
    path = f"{module.replace('.', '/')}.py"
    having = [folder for folder in folders if (folder / path).is_file() and _declares(folder / path, name)]
    if len(having) < 2:
        return having[0] if having else None
    scores = {folder: _score(function, folder, project) for folder in having}
    best = max(scores.values())
    first = [folder for folder, score in scores.items() if score == best]
    return first[0] if len(first) == 1 else None


def _score(function: ProjectFunction, folder: Path, project: Path) -> int:
    """How many words a folder of the project shares with what the template says of a function."""
    said = [function.logical_id, *(_below(function.code, project) if function.code is not None else ())]
    return len(set(_words(*said)) & set(_words(*_below(folder, project))))


def _below(place: Path, project: Path) -> tuple[str, ...]:
    return place.relative_to(project).parts if place.is_relative_to(project) else place.parts


def _words(*texts: str) -> Iterator[str]:
    for text in texts:
        for word in _WORD.findall(text):
            if word.lower() not in _USUAL:
                yield word.lower()


def _declares(file: Path, name: str) -> bool:
    tree = parsed(file)
    return tree is not None and any(
        (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name)
        or (isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets))
        or (isinstance(node, ast.ImportFrom) and any(name == (one.asname or one.name) for one in node.names))
        for node in tree.body
    )  # fmt: skip
