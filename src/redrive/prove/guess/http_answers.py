"""What a handler reads of the answers to its HTTP requests, by its source, and an answer that has it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from redrive.core.documents import Document
from redrive.prove.guess.reading import EventPath, Events, Reading, nodes_of, own_files, parsed
from redrive.prove.guess.record_samples import sample_object

_TEXTS = frozenset({"content", "data", "read", "text"})
"""Members of answers, of any library, that hold the body: `response.read()`, `response.text`."""
RETURNS_MAX = 3
"""How often functions that return what another function has read are looked for."""


def guessed_document(file: Path) -> Document:
    """A JSON object with the keys that the file, and its own imports, read of the answers to requests."""
    made, _ = sample_object(read_answers(file), ())
    return made or {}


def read_answers(file: Path) -> Reading:
    """The keys that are read of answers in JSON. What cannot be parsed is left out."""
    reading = Reading()
    for own in own_files(file):
        tree = parsed(own)
        if tree is not None:
            _Answers(tree, own.name, reading).read()
    return reading


class _Answers(Events):
    """Follows the answers in JSON through a module's functions."""

    def __init__(self, tree: ast.Module, name: str, reading: Reading) -> None:
        super().__init__(tree, name, reading)
        self._returning: set[str] = set()
        self._texts = {
            target.id
            for node in nodes_of(tree)
            if isinstance(node, ast.Assign) and _reads_text(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def read(self) -> None:
        """Read all functions."""
        for _ in range(RETURNS_MAX):
            self._returning |= {name for name, function in self._functions.items() if self._returns(function)}
        for function in self._functions.values():
            self._function(function, {}, 0)

    def _returns(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a function returns an answer as it is."""
        names: dict[str, EventPath] = {}
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._path(value, names) == ():
                    names[name] = ()
                case ast.Return(value=ast.expr() as value) if self._path(value, names) == ():
                    return True
                case _:
                    pass
        return False

    def _path(self, node: ast.expr, names: Mapping[str, EventPath]) -> EventPath | None:
        match node:
            case ast.Await(value=value):
                return self._path(value, names)
            case ast.Call(func=ast.Attribute(attr="json"), args=[]):
                return ()
            case ast.Call(func=ast.Attribute(attr="load"), args=[ast.Name(), *_]):
                return ()
            case ast.Call(func=ast.Attribute(attr="loads"), args=[text, *_]) if self._is_text(text):
                return ()
            case ast.Call(func=ast.Name(id=name)) if name in self._returning:
                return ()
            case _:
                return super()._path(node, names)

    def _is_text(self, node: ast.expr) -> bool:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        return _reads_text(node) or bool(names & self._texts)


def _reads_text(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _TEXTS for one in ast.walk(node))
