"""Source files as the rules of this folder see them: a path, a text, a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "redrive"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file; `path` is relative to the folder that the rules speak of, with slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    @cached_property
    def functions(self) -> dict[str, Function]:
        """All functions by qualified name: `settle`, `Clock.now`, `outer.inner`."""
        return dict(_functions(self.tree, ""))

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Line and full dotted name of everything imported: `from a import b` imports `a.b`."""
        found: list[tuple[int, str]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        return found

    @cached_property
    def names(self) -> list[tuple[int, str]]:
        """Line and full dotted name of every use of something imported, under whatever name it was bound."""
        bound = _bound_names(self.tree)
        uses = ((node.lineno, _dotted(node)) for node in ast.walk(self.tree) if isinstance(node, ast.expr))
        found = []
        for line, dotted in uses:
            first, _, rest = dotted.partition(".")
            if first in bound:
                found.append((line, f"{bound[first]}.{rest}" if rest else bound[first]))
        return found

    @cached_property
    def strings(self) -> list[tuple[int, str]]:
        """Line and text of every string that is not a docstring, and of the literal parts of f-strings."""
        prose = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)}
        return [
            (node.lineno, node.value)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ]


Rule = Callable[[Source], Iterable[str]]


def sources(folder: Path) -> list[Source]:
    """The Python files under a folder, in order."""
    return [
        Source(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    ]


def findings(rule: Rule, folder: Path, allowed: Mapping[str, str] | None = None) -> list[str]:
    """What a rule finds under a folder, less what is allowed by name.

    A finding begins with its place, `path` or `path:function`, and a space; allowances are keyed by place.
    An allowance that nothing needs is a finding too.
    """
    allowed = allowed or {}
    all_found = [found for source in sources(folder) for found in rule(source)]
    needed = {found.split()[0] for found in all_found} & set(allowed)
    unneeded = [f"{place} needs no exception any more" for place in allowed if place not in needed]
    return [found for found in all_found if found.split()[0] not in allowed] + unneeded


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        inner = f"{prefix}{child.name}." if isinstance(child, Function | ast.ClassDef) else prefix
        yield from _functions(child, inner)


def _bound_names(tree: ast.Module) -> dict[str, str]:
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                bound[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return bound


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
