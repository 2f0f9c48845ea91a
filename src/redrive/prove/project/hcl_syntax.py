"""Terraform's language, parsed: blocks, their arguments, and expressions, without what they come to.

Source: https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

_SPACE = re.compile(r"(?:[ \t\r]|#[^\n]*|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_SPACE_AND_LINES = re.compile(r"(?:\s|#[^\n]*|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:::[A-Za-z_][\w-]*)*")
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
_HEREDOC = re.compile(r"<<(?P<indented>-?)(?P<mark>[A-Za-z_][\w-]*)[ \t]*\r?\n")
_OPERATOR = re.compile(r"==|!=|<=|>=|&&|\|\||[+\-*/%<>]")
_BINDING = {
    "||": 0, "&&": 1, "==": 2, "!=": 2, "<": 3, ">": 3, "<=": 3, ">=": 3, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_DEPTH_MAX = 100
"""How deep expressions nest."""


class MalformedConfiguration(ValueError):
    """A text is not in Terraform's language; the message says why, and in which line."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, true, false or null."""

    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions in it."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A list, as it is written."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """An object, as it is written."""

    pairs: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Name:
    """The first word of a reference."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """An attribute or an index of a value."""

    of: Expression
    key: Expression


@dataclass(frozen=True, slots=True)
class Splat:
    """Of each member of a list, what the path leads to."""

    of: Expression
    path: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of two values, by a condition."""

    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Operated:
    """An operator with its one or two operands."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` expression; `key` is None for one that makes a list."""

    names: tuple[str, ...]
    over: Expression
    key: Expression | None
    value: Expression
    condition: Expression | None


Expression: TypeAlias = (
    Literal | Template | Listed | Mapped | Name | Member | Splat | Call | Choice | Operated | Loop
)  # fmt: skip


@dataclass(slots=True)
class Block:
    """A block: `resource "aws_sqs_queue" "orders" { … }` has the type `resource` and two labels."""

    type: str = ""
    labels: tuple[str, ...] = ()
    attributes: dict[str, Expression] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)

    def inner(self, type_name: str) -> list[Block]:
        """The blocks of this type that stand in it."""
        return [one for one in self.blocks if one.type == type_name]


def parse(text: str) -> Block:
    """The content of a file. Errors: MalformedConfiguration."""
    reader = _Reader(text)
    body = Block()
    reader.body(body, is_inner=False)
    return body


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open = 0
        """Within how many brackets a line's end means nothing."""
        self._depth = 0

    def body(self, block: Block, *, is_inner: bool) -> None:
        """Read what stands in a block, up to its end."""
        while True:
            self._skip(_SPACE_AND_LINES)
            if self._at >= len(self._text) and not is_inner:
                return
            if is_inner and self._taken("}"):
                return
            name = self._word()
            self._skip(_SPACE)
            if self._taken("="):
                block.attributes[name] = self._expression()
                continue
            inner = Block(name, tuple(self._labels()))
            self.body(inner, is_inner=True)
            block.blocks.append(inner)

    def _labels(self) -> list[str]:
        found: list[str] = []
        while not self._taken("{"):
            label = self._string() if self._peek() == '"' else Literal(self._word())
            found.append(str(label.value) if isinstance(label, Literal) else "")
            self._skip(_SPACE)
        return found

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._error("the expression is nested too deep")
        condition = self._operation()
        if self._taken("?"):
            yes = self._expression()
            self._needed(":")
            condition = Choice(condition, yes, self._expression())
        self._depth -= 1
        return condition

    def _operation(self, weakest: int = 0) -> Expression:
        """Operands with operators between them that bind no weaker than this."""
        found = self._operand()
        while True:
            self._skip()
            operator = _OPERATOR.match(self._text, self._at)
            if operator is None or _BINDING[operator[0]] < weakest:
                return found
            self._at = operator.end()
            found = Operated(operator[0], (found, self._operation(_BINDING[operator[0]] + 1)))

    def _operand(self) -> Expression:
        self._skip()
        for sign in ("!", "-"):
            if self._taken(sign):
                return Operated(sign, (self._operand(),))
        found = self._plain()
        while True:
            match self._peek():
                case "." if self._text[self._at + 1 : self._at + 2] == "*":
                    self._at += 2
                    return self._splat(found)
                case ".":
                    self._at += 1
                    number = _NUMBER.match(self._text, self._at)
                    key = Literal(self._digits()) if number else Literal(self._word())
                    found = Member(found, key)
                case "[":
                    if self._text[self._at :].startswith("[*]"):
                        self._at += 3
                        return self._splat(found)
                    self._opened("[")
                    found = Member(found, self._expression())
                    self._closed("]")
                case _:
                    return found

    def _splat(self, of: Expression) -> Expression:
        path: list[Expression] = []
        while self._peek() == ".":
            self._at += 1
            path.append(Literal(self._word()))
        return Splat(of, tuple(path))

    def _digits(self) -> int:
        found = re.compile(r"\d+").match(self._text, self._at)
        if found is None:
            raise self._error("a number is missing")
        self._at = found.end()
        return int(found[0])

    def _plain(self) -> Expression:
        """An operand without what follows."""
        character = self._peek()
        if character == '"':
            return self._string()
        if character == "(":
            self._opened("(")
            found = self._expression()
            self._closed(")")
            return found
        if character in ("[", "{"):
            return self._collection(character)
        if heredoc := _HEREDOC.match(self._text, self._at):
            return self._heredoc(heredoc)
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return Literal(float(number[0]) if number[1] or number[2] else int(number[0]))
        name = self._word()
        if name in ("true", "false", "null"):
            return Literal({"true": True, "false": False, "null": None}[name])
        if self._peek() == "(":
            self._opened("(")
            return Call(name, self._until(")"))
        return Name(name)

    def _collection(self, opening: str) -> Expression:
        closing = {"[": "]", "{": "}"}[opening]
        self._opened(opening)
        self._skip()
        if re.compile(r"for\b").match(self._text, self._at):
            self._at += len("for")
            return self._loop(closing)
        if opening == "[":
            return Listed(self._until(closing))
        pairs = []
        self._skip()
        while self._peek() != closing:
            key = self._key()
            if not self._taken("="):
                self._needed(":")
            pairs.append((key, self._expression()))
            self._taken(",")
            self._skip()
        self._closed(closing)
        return Mapped(tuple(pairs))

    def _key(self) -> Expression:
        """The key of an object: a word stands for itself."""
        word = _NAME.match(self._text, self._at)
        if word is not None and re.compile(r"\s*[=:]").match(self._text, word.end()):
            self._at = word.end()
            return Literal(word[0])
        return self._operand()

    def _loop(self, closing: str) -> Expression:
        self._skip()
        names = [self._word()]
        if self._taken(","):
            self._skip()
            names.append(self._word())
        self._skip()
        if self._word() != "in":
            raise self._error("`in` is missing")
        over = self._expression()
        self._needed(":")
        key, value = None, self._expression()
        if self._taken("=>"):
            key, value = value, self._expression()
            self._skip()
            if self._text[self._at :].startswith("..."):
                self._at += len("...")
        condition = None
        self._skip()
        if re.compile(r"if\b").match(self._text, self._at):
            self._at += len("if")
            condition = self._expression()
        self._closed(closing)
        return Loop(tuple(names), over, key, value, condition)

    def _until(self, closing: str) -> tuple[Expression, ...]:
        items: list[Expression] = []
        self._skip()
        while self._peek() != closing:
            items.append(self._expression())
            self._skip()
            if self._text[self._at :].startswith("..."):
                self._at += len("...")
            self._taken(",")
            self._skip()
        self._closed(closing)
        return tuple(items)

    def _string(self) -> Expression:
        self._at += 1
        parts: list[Expression] = []
        text = ""
        while True:
            character = self._peek()
            if character in ("", "\n"):
                raise self._error("a text has no end")
            if character == '"':
                self._at += 1
                break
            if character == "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                text += _ESCAPES.get(escaped, escaped)
                self._at += 2
            else:
                text = self._templated(text, parts)
        return _joined(parts, text)

    def _templated(self, text: str, parts: list[Expression]) -> str:
        """Read one character of a text, or an expression in it; returns the text that is not in the parts yet."""
        two = self._text[self._at : self._at + 2]
        if self._text[self._at : self._at + 3] in ("$${", "%%{"):
            self._at += len("$${")
            return text + two[0] + "{"
        if two not in ("${", "%{"):
            self._at += 1
            return text + two[0]
        self._at += 2
        if two == "%{":  # A directive: the text on both of its ways is kept.
            self._at = self._text.find("}", self._at) + 1 or len(self._text)
            return text
        self._taken("~")
        if text:
            parts.append(Literal(text))
        self._open += 1
        parts.append(self._expression())
        self._taken("~")
        self._closed("}")
        return ""

    def _heredoc(self, opening: re.Match[str]) -> Expression:
        end = re.compile(rf"^[ \t]*{re.escape(opening['mark'])}[ \t]*\r?$", re.MULTILINE).search(
            self._text, opening.end()
        )
        if end is None:
            raise self._error(f"{opening['mark']} is missing")
        content = self._text[opening.end() : end.start()]
        if opening["indented"]:
            content = _unindented(content)
        inner = _Reader(content)
        parts: list[Expression] = []
        text = ""
        while inner._at < len(content):
            text = inner._templated(text, parts)
        self._at = end.end()
        return _joined(parts, text)

    def _word(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self._error(f"a name is missing before {self._text[self._at : self._at + 20]!r}")
        self._at = found.end()
        return found[0]

    def _opened(self, bracket: str) -> None:
        self._needed(bracket)
        self._open += 1

    def _closed(self, bracket: str) -> None:
        self._needed(bracket)
        self._open -= 1

    def _needed(self, sign: str) -> None:
        if not self._taken(sign):
            raise self._error(f"`{sign}` is missing before {self._text[self._at : self._at + 20]!r}")

    def _taken(self, sign: str) -> bool:
        self._skip()
        if self._text.startswith(sign, self._at) and not (sign == "=" and self._text.startswith("==", self._at)):
            self._at += len(sign)
            return True
        return False

    def _skip(self, space: re.Pattern[str] | None = None) -> None:
        found = (space or (_SPACE_AND_LINES if self._open else _SPACE)).match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _error(self, why: str) -> MalformedConfiguration:
        return MalformedConfiguration(f"line {self._text.count(chr(10), 0, self._at) + 1}: {why}")


def _joined(parts: list[Expression], text: str) -> Expression:
    if not parts:
        return Literal(text)
    return Template((*parts, Literal(text)) if text else tuple(parts))


def _unindented(content: str) -> str:
    lines = content.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)
