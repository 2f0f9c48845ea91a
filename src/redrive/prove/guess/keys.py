"""The keys of tables and indexes that a handler's source shows, in all of its calls, before the first call is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redrive.prove.guess.reading import nodes_of, own_files, parsed, variable_of

_WITH_KEY = frozenset({"get_item", "update_item", "delete_item"})
_TERM = re.compile(r"([#\w.-]+)\s*(=|<=|>=|<|>|BETWEEN\b)", re.IGNORECASE)
_PREFIX = re.compile(r"begins_with\s*\(\s*([#\w.-]+)", re.IGNORECASE)
_SORT = re.compile(r"(?i)(^sk$|sort|range|timestamp|created|date|_at$|^version$|[a-z]At$)")


@dataclass(slots=True)
class KeyShown:
    """The key of a table: its attributes with their types, the hash key first, and the line that shows them."""

    names: dict[str, str] = field(default_factory=dict)
    place: str = ""
    is_whole: bool = False
    """Whether a call names the whole key, and not only a query a part of it."""
    written: dict[str, str] = field(default_factory=dict)
    """The attributes of items that are put, with their types: a sort key may be among them."""


UNNAMED = ""
"""The table of calls whose table is not known."""


def shown_keys(file: Path, variables: Mapping[str, str]) -> dict[str, KeyShown]:
    """The keys by the names of tables. `variables` are the values of environment variables."""
    found = _Tables(variables)
    trees = [(own.name, tree) for own in own_files(file) if (tree := parsed(own)) is not None]
    for _ in range(2):  # A name may be bound below its use.
        for _, tree in trees:
            found.bind(tree)
    for name, tree in trees:
        found.read(tree, name)
    return {table: shown for table, shown in found.shown.items() if shown.names}


class _Tables:
    """Reads the calls of DynamoDB in a handler's files."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._texts: dict[str, str] = {}
        self._tables: dict[str, str] = {}
        self._objects: dict[str, ast.Dict] = {}
        self.shown: dict[str, KeyShown] = {}

    def bind(self, tree: ast.Module) -> None:
        """Note the names of texts, of tables and of objects."""
        for node in nodes_of(tree):
            match node:
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    name = _last_name(target)
                case _:
                    continue
            text = self._text(value)
            if text is not None:
                self._texts[name] = text
            if isinstance(value, ast.Call) and _last_name(value.func) == "Table" and value.args:
                self._tables[name] = self._text(value.args[0]) or UNNAMED
            if isinstance(value, ast.Dict):
                self._objects[name] = value

    def read(self, tree: ast.Module, file: str) -> None:
        """Read all calls of a file."""
        for node in nodes_of(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=holder, attr=method)):
                    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
                    self._call(method, self._table(holder, named), named, f"{file}:{node.lineno}")
                case ast.Dict(keys=keys, values=values):
                    members = {
                        key.value: value
                        for key, value in zip(keys, values, strict=True)
                        if isinstance(key, ast.Constant) and isinstance(key.value, str)
                    }
                    if "TableName" in members:  # A member of a transaction.
                        method = "get_item" if "Key" in members else "put_item"
                        table = self._text(members["TableName"]) or UNNAMED
                        self._call(method, table, members, f"{file}:{node.lineno}")
                case _:
                    pass

    def _call(self, method: str, table: str, named: Mapping[str, ast.expr], place: str) -> None:
        shown = self.shown.setdefault(table, KeyShown())
        if method in _WITH_KEY and "Key" in named:
            names = self._members(named["Key"])
            if names and (not shown.is_whole or len(names) > len(shown.names)):
                shown.names, shown.place, shown.is_whole = dict(list(names.items())[:2]), place, True
        elif method == "put_item" and "Item" in named:
            shown.written |= self._members(named["Item"])
        elif method == "query" and "IndexName" not in named and "KeyConditionExpression" in named:
            asked = self._asked(named)
            if asked and not shown.is_whole and len(asked) > len(shown.names):
                shown.names, shown.place = asked, place

    def _asked(self, named: Mapping[str, ast.expr]) -> dict[str, str]:
        """The attributes of a key condition, those that are to equal a value first."""
        condition = named["KeyConditionExpression"]
        equal: list[str] = []
        other: list[str] = []
        for node in ast.walk(condition):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Call(func=key, args=[ast.Constant(value=str(name))]), attr=how)
                ):
                    if _last_name(key) == "Key":
                        (equal if how == "eq" else other).append(name)
                case ast.Constant(value=str(text)):
                    aliases = self._aliases(named.get("ExpressionAttributeNames"))
                    for alias, operator in _TERM.findall(text):
                        (equal if operator == "=" else other).append(aliases.get(alias, alias))
                    other += [aliases.get(alias, alias) for alias in _PREFIX.findall(text)]
                case _:
                    pass
        names = [name for name in dict.fromkeys([*equal, *other]) if not name.startswith((":", "#"))]
        return dict.fromkeys(names[:2], "") if equal else {}

    def _aliases(self, node: ast.expr | None) -> dict[str, str]:
        literal = self._objects.get(_last_name(node)) if node is not None else None
        literal = node if isinstance(node, ast.Dict) else literal
        if literal is None:
            return {}
        return {
            key.value: value.value
            for key, value in zip(literal.keys, literal.values, strict=True)
            if isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and isinstance(value, ast.Constant)
            and isinstance(value.value, str)
        }

    def _members(self, node: ast.expr) -> dict[str, str]:
        literal = node if isinstance(node, ast.Dict) else self._objects.get(_last_name(node))
        if literal is None:
            return {}
        return {
            key.value: _type_of(value)
            for key, value in zip(literal.keys, literal.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }

    def _table(self, holder: ast.expr, named: Mapping[str, ast.expr]) -> str:
        if "TableName" in named:
            return self._text(named["TableName"]) or UNNAMED
        if isinstance(holder, ast.Call) and _last_name(holder.func) == "Table" and holder.args:
            return self._text(holder.args[0]) or UNNAMED
        return self._tables.get(_last_name(holder), UNNAMED)

    def _text(self, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name() | ast.Attribute() if (name := _last_name(node)) in self._texts:
                return self._texts[name]
            case ast.Call(args=[ast.Constant(value=str(name)), ast.Constant(value=str(default))], func=func):
                if _last_name(func) in ("get", "getenv"):
                    return self._variables.get(name, default)
                return None
            case _:
                variable = variable_of(node)
                return None if variable is None else self._variables.get(variable)


def key_of_item(shown: KeyShown, item: Mapping[str, str]) -> dict[str, str]:
    """The key of a table, by an item that is written to it, as attributes with types; empty if the two do not fit."""
    names = dict(shown.names)
    if not names or any(name not in item for name in names):
        return {}
    if not shown.is_whole and len(names) == 1:
        sort = next((name for name in item if name not in names and _SORT.search(name)), None)
        names |= {} if sort is None else {sort: ""}
    return {name: item[name] for name in names}


def _type_of(node: ast.expr) -> str:
    """The type of an attribute's value as it is written; empty if it does not show."""
    match node:
        case ast.Dict(keys=[ast.Constant(value="S" | "N" | "B" as kind)]):
            return str(kind)
        case ast.Constant(value=int() | float()) | ast.Call(func=ast.Name(id="int" | "Decimal")):
            return "N"
        case ast.Constant(value=bytes()) | ast.Call(func=ast.Name(id="Binary")):
            return "B"
        case _:
            return ""


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
