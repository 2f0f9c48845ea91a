"""The parser of PartiQL statements: SELECT, INSERT, UPDATE, DELETE, and EXISTS for transactions.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
"""

from __future__ import annotations

import functools

from redrive.languages.dynamo.expressions.tree import Path
from redrive.languages.dynamo.refusals import invalid
from redrive.languages.partiql.reader import ExpressionReader
from redrive.languages.partiql.refusals import aliased, malformed, unsupported
from redrive.languages.partiql.syntax import (
    Assignment,
    DeleteSyntax,
    ExistsSyntax,
    InsertSyntax,
    Node,
    Order,
    Parsed,
    Returning,
    SelectSyntax,
    Source,
    StatementSyntax,
    UpdateSyntax,
)
from redrive.languages.partiql.tokens import TokenKind

STATEMENTS_CACHED_MAX = 1_024
"""How many parsed statements are cached, least recently used. A statement has at most 8,192 characters."""

SOURCE_PARTS_MAX = 2

_UNSUPPORTED_CLAUSES = ("GROUP", "HAVING", "LIMIT")
_UNSUPPORTED_JOINS = ("CROSS", "FULL", "INNER", "JOIN", "LEFT", "OUTER", "RIGHT")


@functools.lru_cache(maxsize=STATEMENTS_CACHED_MAX)
def parse(text: str) -> Parsed:
    """Parse a statement. Errors: ValidationException if it is malformed, or uses what DynamoDB does not have."""
    grammar = _Grammar(text)
    statement = grammar.statement()
    return Parsed(statement, grammar.reader.parameters)


class _Grammar:
    """One statement."""

    __slots__ = ("reader",)

    def __init__(self, text: str) -> None:
        self.reader = ExpressionReader(text)

    def statement(self) -> StatementSyntax:
        """The whole statement; nothing but a semicolon may follow it."""
        statement = self._statement()
        if not self.reader.at_end():
            raise malformed("Unexpected token after expression")
        return statement

    def _statement(self) -> StatementSyntax:
        match self.reader.accept("SELECT", "INSERT", "UPDATE", "DELETE", "FROM", "EXISTS"):
            case "SELECT":
                return self._select()
            case "INSERT":
                return self._insert()
            case "UPDATE":
                return self._update(self._source())
            case "DELETE":
                return self._delete()
            case "FROM":
                return self._from()
            case "EXISTS":
                return self._exists()
            case _:
                raise malformed("Expected data manipulation")

    def _select(self) -> SelectSyntax:
        projection = self._projection()
        if not self.reader.accept("FROM"):
            raise malformed("Expected FROM after SELECT list")
        source = self._source()
        if self.reader.at(",", *_UNSUPPORTED_JOINS):
            raise unsupported("clause: JOIN", self.reader.place)
        where = self._where()
        order = self._order()
        self._refuse_clauses()
        return SelectSyntax(projection, source, where, order)

    def _projection(self) -> tuple[Path, ...] | None:
        reader = self.reader
        if reader.at("DISTINCT"):
            raise unsupported("clause: DISTINCT", reader.place)
        if reader.accept("*"):
            return None
        if reader.at("FROM"):
            raise malformed("Cannot have empty SELECT list")
        paths = [self._projected()]
        while reader.accept(","):
            paths.append(self._projected())
        return tuple(paths)

    def _projected(self) -> Path:
        reader = self.reader
        place = reader.place
        node = reader.expression()
        if reader.at("AS") or reader.token.kind is TokenKind.NAME:
            raise aliased()
        if not isinstance(node, Path):
            raise unsupported("expression in the SELECT list", place)
        return node

    def _where(self) -> Node | None:
        return self.reader.expression() if self.reader.accept("WHERE") else None

    def _order(self) -> tuple[Order, ...]:
        reader = self.reader
        if not reader.accept("ORDER"):
            return ()
        reader.expect("BY")
        terms = [self._ordered()]
        while reader.accept(","):
            terms.append(self._ordered())
        return tuple(terms)

    def _ordered(self) -> Order:
        path = self.reader.path()
        return Order(path, self.reader.accept("ASC", "DESC") == "DESC")

    def _refuse_clauses(self) -> None:
        reader = self.reader
        clause = reader.accept(*_UNSUPPORTED_CLAUSES)
        if clause is not None:
            reader.accept("BY")
            raise unsupported(f"clause: {clause}{' BY' if clause == 'GROUP' else ''}", reader.place)

    def _insert(self) -> InsertSyntax:
        reader = self.reader
        if not reader.accept("INTO"):
            raise malformed("Expected INTO after INSERT")
        source = self._source(may_be_aliased=False, simple=True)
        if reader.accept("("):
            raise malformed("Unexpected keyword" if reader.token.kind is TokenKind.KEYWORD else "Expected VALUE")
        if reader.token.kind is TokenKind.NAME or reader.at("AS"):
            raise malformed("Unexpected token after expression")
        if not reader.accept("VALUE"):
            raise malformed("Expected VALUE")
        return InsertSyntax(source, reader.expression())

    def _update(self, source: Source) -> UpdateSyntax:
        assignments = self._assignments()
        return UpdateSyntax(source, assignments, self._where(), self._returning())

    def _assignments(self) -> tuple[Assignment, ...]:
        reader, found = self.reader, list[Assignment]()
        while (keyword := reader.accept("SET", "REMOVE")) is not None:
            one = self._set if keyword == "SET" else self._remove
            found.append(one())
            while reader.accept(","):
                found.append(one())
        if not found:
            raise malformed("Expected data manipulation")
        return tuple(found)

    def _set(self) -> Assignment:
        path = self.reader.path()
        if not self.reader.accept("="):
            raise malformed("Expected assignment for SET")
        return Assignment(path, self.reader.expression())

    def _remove(self) -> Assignment:
        return Assignment(self.reader.path(), None)

    def _delete(self) -> DeleteSyntax:
        if not self.reader.accept("FROM"):
            raise malformed("Expected FROM after DELETE")
        source = self._source(simple=True)
        return DeleteSyntax(source, self._where(), self._returning())

    def _from(self) -> UpdateSyntax | DeleteSyntax:
        """The form that names the table first: `FROM table WHERE … SET …`."""
        source = self._source()
        where = self._where()
        if self.reader.accept("DELETE"):
            return DeleteSyntax(source, where, self._returning())
        assignments = self._assignments()
        return UpdateSyntax(source, assignments, where or self._where(), self._returning())

    def _exists(self) -> ExistsSyntax:
        self.reader.expect("(")
        if not self.reader.accept("SELECT"):
            raise malformed("Expected data manipulation")
        select = self._select()
        self.reader.expect(")")
        return ExistsSyntax(select)

    def _returning(self) -> Returning | None:
        reader = self.reader
        if not (reader.token.kind is TokenKind.NAME and reader.token.text.upper() == "RETURNING"):
            return None
        reader.take()
        words = " ".join(reader.take().text.upper() for _ in range(2))
        if words not in {each.value for each in Returning} or not reader.accept("*"):
            raise malformed("Expected ALL or MODIFIED, OLD or NEW, and an asterisk after RETURNING")
        return Returning(words)

    def _source(self, *, may_be_aliased: bool = True, simple: bool = False) -> Source:
        """A table, or a table and an index.

        `simple`: only a path may stand here; elsewhere PartiQL allows any expression, which gives other errors.
        Errors: ValidationException.
        """
        reader = self.reader
        if not simple and reader.token.kind in (TokenKind.END, TokenKind.KEYWORD):
            raise malformed("Unexpected term" if reader.token.kind is TokenKind.END else "Unexpected keyword")
        path = reader.path()
        if len(path.elements) > SOURCE_PARTS_MAX:
            raise invalid(f"A path may contain at most {SOURCE_PARTS_MAX} components in the FROM clause")
        if "" in path.elements:
            raise invalid("Path component cannot be an empty string")
        if any(isinstance(element, int) for element in path.elements):
            raise malformed("Invalid path component for simple path")
        is_name = reader.token.kind is TokenKind.NAME and reader.token.text.upper() != "RETURNING"
        if may_be_aliased and (is_name or reader.at("AS", "AT", "BY")):
            raise aliased()
        table, *index = map(str, path.elements)
        return Source(table, index[0] if index else None)
