"""The source of a handler, as text and as a tree, and edits of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redrive.prove.calls.calls import Params
from redrive.prove.stage.trigger import Kind

Function = ast.FunctionDef | ast.AsyncFunctionDef

_KEY_LIKE = re.compile(r"(^|[_-])(id|key|uuid|number|reference)$|[a-z](Id|ID|Key|Number)$")
_OF_DELIVERY = frozenset({"messageId", "receiptHandle", "eventID", "sequenceNumber", "requestId", "eventId"})


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of the text, by its offsets, and what comes in its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a change begins: the line of a call, what the call said, and what the cause's words need."""

    source: Source
    line: int
    params: Params
    details: Mapping[str, str]
    kind: Kind
    message: Mapping[str, object]
    """The members of the first message, or event."""

    def key(self, before: ast.AST) -> str:
        """An expression in reach of a node that names what the message is about; empty if there is none."""
        return self.source.message_key(before, self.message, is_plain=self.kind is Kind.LAMBDA)


class Source:
    """A module's source. Errors: SyntaxError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def edited(self, edits: Sequence[Edit]) -> str:
        """The text after edits that do not overlap."""
        text = self.text
        for edit in sorted(edits, key=lambda one: -one.start):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Where a node begins."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Where a node ends."""
        return self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def told(self, node: ast.expr | ast.stmt) -> str:
        """A node as it is written."""
        return self.text[self.start(node) : self.end(node)]

    def replaced(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """An edit that puts a text in the place of a node."""
        return Edit(self.start(node), self.end(node), text)

    def indent(self, statement: ast.stmt) -> str:
        """The white space before a statement."""
        return " " * statement.col_offset

    def without(self, statement: ast.stmt) -> Edit:
        """An edit that takes out a statement with its lines; `pass` stays where it was the only one."""
        block = self._block(statement)
        if len(block) == 1:
            return self.replaced(statement, "pass")
        return Edit(self._starts[statement.lineno - 1], self._starts[statement.end_lineno or statement.lineno], "")

    def call_at(self, line: int, *names: str) -> ast.Call | None:
        """The call of a method with one of these names whose lines include this one."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
                is_named = isinstance(node.func, ast.Attribute) and node.func.attr in names
                if is_named or not names:
                    return node
        return None

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that a node is a part of."""
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that a node is a part of, the innermost first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement of an expression."""
        return next((one for one in (node, *self.above(node)) if isinstance(one, ast.stmt)), None)

    def function(self, node: ast.AST) -> Function | None:
        """The function in which a node stands."""
        return next((one for one in self.above(node) if isinstance(one, Function)), None)

    def loop_of(self, statement: ast.AST) -> bool:
        """Whether a statement stands in a loop of its function."""
        for one in self.above(statement):
            if isinstance(one, Function):
                return False
            if isinstance(one, ast.For | ast.While | ast.AsyncFor):
                return True
        return False

    def assigned(self, name: str, before: ast.AST) -> ast.expr | None:
        """The value that a name was last given in the function of a node, before that node."""
        function = self.function(before)
        line = getattr(before, "lineno", 0)
        values = [
            node.value
            for node in ast.walk(function or self.tree)
            if isinstance(node, ast.Assign) and node.lineno < line
            for target in node.targets
            if isinstance(target, ast.Name) and target.id == name
        ]
        return values[-1] if values else None

    def message_key(self, before: ast.AST, message: Mapping[str, object], *, is_plain: bool) -> str:
        """An expression in reach of a node that names what the message is about; empty if there is none.

        A name that was given such a value, or a subscript with a key like `id`, or a name that holds the message if the
        message has such a key. With `is_plain`, the event has the keys; otherwise its members are the delivery's.
        """
        function = self.function(before)
        if function is None:
            return ""
        line = getattr(before, "end_lineno", 0)
        events = {arg.arg for arg in function.args.args} | _records(function)
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Subscript)
                and node.lineno <= line
                and self._is_key(node, events, is_plain=is_plain)
            ):
                holder = self.parent(node)
                if (
                    isinstance(holder, ast.Assign)
                    and len(holder.targets) == 1
                    and isinstance(holder.targets[0], ast.Name)
                ):
                    return holder.targets[0].id
                return self.told(node)
        return self._key_of_message(function, line, message)

    def _key_of_message(self, function: Function, line: int, message: Mapping[str, object]) -> str:
        key = next((name for name in message if _KEY_LIKE.search(name)), None)
        for node in ast.walk(function):
            if key is not None and isinstance(node, ast.Assign) and node.lineno < line and _is_parsed(node.value):
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    return f'{target.id}["{key}"]'
        return ""

    def _is_key(self, node: ast.Subscript, events: set[str], *, is_plain: bool) -> bool:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str) or not _KEY_LIKE.search(key) or key in _OF_DELIVERY:
            return False
        is_of_delivery = isinstance(node.value, ast.Name) and node.value.id in events
        return isinstance(node.ctx, ast.Load) and (is_plain or not is_of_delivery)

    def _block(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        parent = self.parent(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    def _offset(self, line: int, column: int) -> int:
        """The offset of a place: the tree counts columns in bytes."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return self._starts[line - 1] + len(text.encode()[:column].decode())


def _is_parsed(value: ast.expr) -> bool:
    """Whether a value is JSON that was read."""
    name = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return name == "loads"


def _records(function: Function) -> set[str]:
    """The names of loops over the records of an event."""
    return {
        node.target.id
        for node in ast.walk(function)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and "Records" in ast.dump(node.iter)
    }


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """An argument of a call by its name."""
    return next((one for one in call.keywords if one.arg == name), None)


def number_of(node: ast.AST) -> int | None:
    """The value of a number, or of numbers that are multiplied or added."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() as op, right=right):
            first, second = number_of(left), number_of(right)
            if first is None or second is None:
                return None
            return first * second if isinstance(op, ast.Mult) else first + second
        case _:
            return None
