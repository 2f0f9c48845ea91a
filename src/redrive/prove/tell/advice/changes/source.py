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
_WORK = frozenset(
    {"booking", "execution", "invoice", "job", "order", "payment", "request", "run", "shipment", "task", "transaction"}
)
"""What a member of a message can be called that names its work by itself."""
_IMAGES = frozenset({"Keys", "NewImage", "OldImage"})
"""Members of a table's change whose values have a type each."""
_TYPES = frozenset({"S", "N", "B"})
_OF_DELIVERY = frozenset(
    {"messageId", "receiptHandle", "MessageId", "eventID", "sequenceNumber", "requestId", "eventId"}
)


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of the text, by its offsets, and what comes in its place."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Sequence[Edit]) -> str:
    """A text after edits that do not overlap. Of two at one place, the later one in the list stands first."""
    for edit in sorted(edits, key=lambda one: -one.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


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
        found = self.source.message_key(before, self.message, is_plain=self.kind is Kind.LAMBDA)
        return found or (self.source.change_key(before) if self.kind is Kind.DYNAMODB else "")


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
        return edited(self.text, edits)

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

    def margin(self, node: ast.keyword) -> str:
        """The white space at the beginning of the line in which an argument begins."""
        line = self._lines[node.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

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
        named = _naming(message)
        events = {arg.arg for arg in function.args.args} | _records(function)
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Subscript)
                and node.lineno <= line
                and self._is_key(node, events, named, is_plain=is_plain)
            ):
                whole = self._with_type(node)
                holder = self.parent(whole)
                if (
                    isinstance(holder, ast.Assign)
                    and len(holder.targets) == 1
                    and isinstance(holder.targets[0], ast.Name)
                ):
                    return holder.targets[0].id
                return self.told(whole) + ('["S"]' if whole is node and _is_of_image(node) else "")
        return self._key_of_message(function, line, named)

    def change_key(self, before: ast.AST) -> str:
        """The id of a table's change: the same whenever the change is read again; empty if no record is in reach."""
        records = [
            one.target.id for one in self.above(before)
            if isinstance(one, ast.For) and isinstance(one.target, ast.Name) and "Records" in ast.dump(one.iter)
        ]  # fmt: skip
        return f'{records[0]}["eventID"]' if records else ""

    def _with_type(self, node: ast.Subscript) -> ast.expr:
        """A value of a table's change with its type: `record["dynamodb"]["Keys"]["id"]["S"]`."""
        parent = self.parent(node)
        is_typed = (
            isinstance(parent, ast.Subscript)
            and isinstance(parent.slice, ast.Constant)
            and parent.slice.value in _TYPES
            and _is_of_image(node)
        )
        return parent if is_typed and isinstance(parent, ast.Subscript) else node

    def _key_of_message(self, function: Function, line: int, named: Sequence[str]) -> str:
        key = next(iter(named), None)
        for node in ast.walk(function):
            if key is not None and isinstance(node, ast.Assign) and node.lineno < line and _is_parsed(node.value):
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    return f'{target.id}["{key}"]'
        return ""

    def _is_key(self, node: ast.Subscript, events: set[str], named: Sequence[str], *, is_plain: bool) -> bool:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str) or key in _OF_DELIVERY or not (_KEY_LIKE.search(key) or key in named):
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


def _naming(message: Mapping[str, object]) -> list[str]:
    """The members of a message that name what it is about: first those that look like keys."""
    alone = [name for name, value in message.items() if isinstance(value, str | int) and not isinstance(value, bool)]
    return [name for name in alone if _KEY_LIKE.search(name)] + [name for name in alone if name in _WORK]


def _is_of_image(node: ast.Subscript) -> bool:
    """Whether a value is one of a table's change."""
    found = [
        one.slice.value
        for one in ast.walk(node.value)
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant)
    ]
    return bool(_IMAGES & {*found})


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
