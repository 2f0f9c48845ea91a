"""The expression of the user's code that an exception came from, and the values of its parts in the frame."""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
from pathlib import Path
from types import FrameType, ModuleType

Nothing = object()
"""The value of an expression that is not known without running it."""


def failing_node(frame: FrameType, instruction: int) -> ast.expr | ast.stmt | None:
    """The innermost expression or statement that the instruction at an offset belongs to."""
    code = frame.f_code
    found = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    if found is None or None in found:
        return None
    begin, end, column, end_column = found
    return _nodes(code.co_filename).get((begin or 0, end or 0, column or 0, end_column or 0))


def enclosing_tests(file: str, line: int) -> list[ast.expr]:
    """The tests of the `if` statements in whose bodies a line stands, innermost first, each as it was true."""
    found: list[tuple[int, ast.expr]] = []
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.If | ast.Assert):
            body = [] if isinstance(node, ast.Assert) else node.body
            if any(one.lineno <= line <= (one.end_lineno or 0) for one in body):
                found.append((node.lineno, node.test))
            elif (isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0)) or (
                isinstance(node, ast.If) and any(one.lineno <= line <= (one.end_lineno or 0) for one in node.orelse)
            ):
                found.append((node.lineno, ast.UnaryOp(ast.Not(), node.test)))
    return [test for _, test in sorted(found, key=lambda one: -one[0])]


def value_of(node: ast.AST, frame: FrameType) -> object:
    """The value of an expression if it can be read without running code of the user; `Nothing` if not."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            for names in (frame.f_locals, frame.f_globals, vars(builtins)):
                if name in names:
                    return names[name]
            return Nothing
        case ast.Subscript(value=inner, slice=step):
            return _member(value_of(inner, frame), value_of(step, frame))
        case ast.Call(func=ast.Attribute(value=inner, attr="get"), args=[step, *_]):
            return _member(value_of(inner, frame), value_of(step, frame))
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
            return value_of(inner, frame)
        case ast.NamedExpr(target=target):
            return value_of(target, frame)
        case ast.Attribute(value=inner, attr=name):
            return _attribute(value_of(inner, frame), name)
        case ast.Dict(keys=keys):
            return {key.value: Nothing for key in keys if isinstance(key, ast.Constant)}
        case ast.List(elts=members) | ast.Tuple(elts=members) | ast.Set(elts=members):
            values = [value_of(one, frame) for one in members]
            return Nothing if any(value is Nothing for value in values) else values
        case _:
            return Nothing


def _member(container: object, step: object) -> object:
    if isinstance(container, dict) and isinstance(step, str | int) and dict.__contains__(container, step):
        return dict.__getitem__(container, step)
    if isinstance(container, list | tuple) and isinstance(step, int) and -len(container) <= step < len(container):
        return list.__getitem__(container, step) if isinstance(container, list) else container[step]
    return Nothing


def _attribute(holder: object, name: str) -> object:
    if holder is Nothing:
        return Nothing
    if isinstance(holder, ModuleType | type):
        return vars(holder).get(name, Nothing)
    members = getattr(holder, "__dict__", None)
    if isinstance(members, dict) and name in members:
        return members[name]
    if type(holder).__module__.startswith("aws_lambda_powertools"):
        return getattr(holder, name, Nothing)  # Its classes of events have properties that read the event.
    return Nothing


def further_steps(file: str, node: ast.AST) -> list[str | int]:
    """What is read at once of an expression: `["lines", 0, "sku"]` of `order` in `order["lines"][0]["sku"]`."""
    steps: list[str | int] = []
    parents = _parents(file)
    while True:
        parent = parents.get(node)
        match parent:
            case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as step)) if inner is node:
                steps.append(step)
                node = parent
            case ast.Attribute(value=inner, attr="get") if inner is node:
                call = parents.get(parent)
                match call:
                    case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if func is parent:
                        steps.append(name)
                        node = call
                    case _:
                        return steps
            case _:
                return steps


@functools.lru_cache(64)
def _parents(file: str) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(_tree(file)) for child in ast.iter_child_nodes(node)}


@functools.lru_cache(64)
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse(Path(file).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return ast.Module([], [])


@functools.lru_cache(64)
def _nodes(file: str) -> dict[tuple[int, int, int, int], ast.expr | ast.stmt]:
    """The nodes of a file by their positions; of two in one place the outer one."""
    found: dict[tuple[int, int, int, int], ast.expr | ast.stmt] = {}
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.expr | ast.stmt):
            place = (node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
            found.setdefault(place, node)
    return found


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost statement that a line belongs to."""
    found = [
        node
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(found, key=lambda node: node.lineno, default=None)
