"""What a path finds: in the data of a state, in the context object, in a variable."""

from __future__ import annotations

from redrive.languages.states.bindings import Bindings
from redrive.languages.states.paths import NothingFound, Path


def look_up(path: Path, root: object, bindings: Bindings) -> object:
    """The value at a path, whose `$` is root. Errors: NothingFound, also for a variable that has no value."""
    return path.find(root_of(path, root, bindings))


def root_of(path: Path, root: object, bindings: Bindings) -> object:
    """What a path begins at. Errors: NothingFound."""
    if path.root == "$":
        return root
    if path.root == "$$":
        return bindings.context
    name = path.root[1:]
    if name not in bindings.variables:
        raise NothingFound(f"Variable '{name}' is not defined")
    return bindings.variables[name]
