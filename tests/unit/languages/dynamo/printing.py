"""Trees written as expressions again: the inverse of the parsers, for the tests alone.

Every name and every value becomes a placeholder, so that any tree can be written.
"""

from __future__ import annotations

from redrive.languages.dynamo import Placeholders
from redrive.languages.dynamo.expressions.tree import (
    AddTo,
    And,
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Between,
    Comparison,
    Contains,
    DeleteFrom,
    Difference,
    IfNotExists,
    In,
    ListAppend,
    Literal,
    Not,
    Or,
    Path,
    Remove,
    SetTo,
    Size,
    Sum,
)


class Printer:
    """Writes trees, and collects the placeholders that they need."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, object] = {}

    def placeholders(self) -> Placeholders:
        return Placeholders(self.names or None, self.values or None)

    def path(self, path: Path) -> str:
        text = ""
        for element in path.elements:
            text += f"[{element}]" if isinstance(element, int) else f".{self._name(element)}"
        return text.removeprefix(".")

    def value(self, value: object) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def node(self, node: object) -> str:
        match node:
            case Path():
                return self.path(node)
            case Literal(value):
                return self.value(value)
            case Size(operand):
                return f"size({self.node(operand)})"
            case Comparison(comparator, left, right):
                return f"{self.node(left)} {comparator.value} {self.node(right)}"
            case Between(operand, low, high):
                return f"{self.node(operand)} BETWEEN {self.node(low)} AND {self.node(high)}"
            case In(operand, choices):
                return f"{self.node(operand)} IN ({', '.join(map(self.node, choices))})"
            case AttributeExists(path):
                return f"attribute_exists({self.path(path)})"
            case AttributeNotExists(path):
                return f"attribute_not_exists({self.path(path)})"
            case AttributeType(operand, name):
                return f"attribute_type({self.node(operand)}, {self.value({'S': name})})"
            case BeginsWith(operand, prefix):
                return f"begins_with({self.node(operand)}, {self.node(prefix)})"
            case Contains(operand, member):
                return f"contains({self.node(operand)}, {self.node(member)})"
            case And(terms):
                return " AND ".join(self._nested(term, (And, Or)) for term in terms)
            case Or(terms):
                return " OR ".join(self._nested(term, (Or,)) for term in terms)
            case Not(term):
                return f"NOT {self._nested(term, (And, Or))}"
            case IfNotExists(path, default):
                return f"if_not_exists({self.path(path)}, {self.node(default)})"
            case ListAppend(first, second):
                return f"list_append({self.node(first)}, {self.node(second)})"
            case Sum(left, right):
                return f"{self.node(left)} + {self.node(right)}"
            case Difference(left, right):
                return f"{self.node(left)} - {self.node(right)}"
            case _:
                raise AssertionError(node)

    def update(self, actions: list[object]) -> str:
        """The sections in the order of their first action; the actions of a section must stand together."""
        sections: dict[str, list[str]] = {}
        for action in actions:
            match action:
                case SetTo(path, expression):
                    sections.setdefault("SET", []).append(f"{self.path(path)} = {self.node(expression)}")
                case Remove(path):
                    sections.setdefault("REMOVE", []).append(self.path(path))
                case AddTo(path, value):
                    sections.setdefault("ADD", []).append(f"{self.path(path)} {self.value(value)}")
                case DeleteFrom(path, value):
                    sections.setdefault("DELETE", []).append(f"{self.path(path)} {self.value(value)}")
        return " ".join(f"{name} {', '.join(written)}" for name, written in sections.items())

    def _name(self, name: str) -> str:
        for placeholder, known in self.names.items():
            if known == name:
                return placeholder
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def _nested(self, term: object, kinds: tuple[type, ...]) -> str:
        return f"({self.node(term)})" if isinstance(term, kinds) else self.node(term)
