"""Condition, filter and key-condition expressions: the grammar, and AWS's checks that need no item.

`OR` binds weakest, then `AND`, then `NOT`, then the comparisons. The parsed tree has no placeholders; `evaluate`
decides whether it holds for an item.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

from redrive.languages.dynamo.expressions.findings import Stage
from redrive.languages.dynamo.expressions.forms import read_form
from redrive.languages.dynamo.expressions.operands import FunctionReader, note_bounds, note_distinct, note_unordered
from redrive.languages.dynamo.expressions.placeholders import Placeholders
from redrive.languages.dynamo.expressions.reader import Call, Reader
from redrive.languages.dynamo.expressions.tree import (
    And,
    Between,
    Comparator,
    Comparison,
    Condition,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
)

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
IN_CHOICES_MAX = 100

_KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
_COMPARATORS = tuple(comparator.value for comparator in Comparator)
_ORDERING = frozenset({Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE})


def parse_condition(text: str, placeholders: Placeholders, kind: str = "ConditionExpression") -> Condition:
    """Parse a condition. `kind` is the parameter that AWS's messages name: ConditionExpression, FilterExpression.

    Errors: ValidationException for a text that is empty, larger than 4 KB or malformed, for undefined placeholders,
    reserved words, functions used wrongly and operands of a wrong type.
    """
    return read_form(_read, text, kind, placeholders)


def _read(text: str, kind: str, placeholders: Placeholders) -> Condition:
    reader = Reader(text, kind, placeholders, _KEYWORDS)
    grammar = _Grammar(reader)
    condition = grammar.condition(grammar.disjunction())
    reader.expect_end()
    reader.findings.report()
    return condition


# A parenthesis may contain a condition or an operand; only the text after it shows which.
Node = Condition | Path | Literal | Call


class _Level:
    """One pair of parentheses, or the whole text: the operands of OR and AND so far, and NOTs not yet applied."""

    __slots__ = ("conjuncts", "disjuncts", "negations", "opened")

    def __init__(self, opened: int) -> None:
        self.opened = opened
        self.disjuncts: list[Condition] = []
        self.conjuncts: list[Condition] = []
        self.negations = 0


class _Grammar:
    """A loop over levels of parentheses, without recursion: conditions nest deeper than Python's stack."""

    __slots__ = ("_functions", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._functions = FunctionReader(reader.findings)

    def disjunction(self) -> Node:
        """All operands of OR at the outermost level."""
        reader, outer = self._reader, list[_Level]()
        level = _Level(0)
        while True:
            while reader.accept_keyword("NOT"):
                reader.count_operator()
                level.negations += 1
            if reader.token.text == "(":
                outer.append(level)
                level = _Level(reader.open())
                continue
            node = self._negated(level, self._comparison(reader.operand()))
            while (joined := self._joined(level, node)) is not None:
                if not outer:
                    return joined
                reader.close(level.opened)
                level = outer.pop()
                node = self._negated(level, self._comparison(joined))

    def condition(self, node: Node) -> Condition:
        """The node as a condition. Errors: a syntax error if it is an operand alone."""
        if isinstance(node, Call):
            return self._functions.condition(node)
        if isinstance(node, Path | Literal):
            raise self._reader.syntax_error()
        return node

    def _negated(self, level: _Level, node: Node) -> Node:
        for _ in range(level.negations):
            node = Not(self.condition(node))
        level.negations = 0
        return node

    def _joined(self, level: _Level, node: Node) -> Node | None:
        """The whole level, which ends with this node; None if AND or OR follows, which is then consumed."""
        keyword = self._reader.at_keyword()
        if keyword == "AND" or level.conjuncts:
            level.conjuncts.append(self.condition(node))
            if self._goes_on("AND"):
                return None
            node = And(tuple(level.conjuncts))
            level.conjuncts = []
        if keyword == "OR" or level.disjuncts:
            level.disjuncts.append(self.condition(node))
            if self._goes_on("OR"):
                return None
            node = Or(tuple(level.disjuncts))
        return node

    def _goes_on(self, keyword: str) -> bool:
        if not self._reader.accept_keyword(keyword):
            return False
        self._reader.count_operator()
        return True

    def _comparison(self, left: Node) -> Node:
        """The operand on the left, with a comparison if an operator follows."""
        reader = self._reader
        if not isinstance(left, Path | Literal | Call):
            return left
        if (symbol := reader.accept(*_COMPARATORS)) is not None:
            reader.count_operator()
            return self._compared(Comparator(symbol), left)
        if reader.accept_keyword("BETWEEN"):
            reader.count_operator()
            return self._between(left)
        if reader.accept_keyword("IN"):
            reader.count_operator()
            return self._in(left)
        return left

    def _compared(self, comparator: Comparator, left: Path | Literal | Call) -> Comparison:
        first, second = self._operands(left, self._reader.operand())
        note_distinct(self._reader.findings, comparator.value, (first, second))
        if comparator in _ORDERING:
            note_unordered(self._reader.findings, comparator.value, (first, second))
        return Comparison(comparator, first, second)

    def _between(self, left: Path | Literal | Call) -> Between:
        low = self._reader.operand()
        self._reader.expect_keyword("AND")
        operand, low_bound, high_bound = self._operands(left, low, self._reader.operand())
        findings = self._reader.findings
        note_distinct(findings, "BETWEEN", (operand, low_bound, high_bound))
        note_unordered(findings, "BETWEEN", (operand, low_bound, high_bound))
        note_bounds(findings, low_bound, high_bound)
        return Between(operand, low_bound, high_bound)

    def _in(self, left: Path | Literal | Call) -> In:
        reader = self._reader
        reader.expect("(")
        choices = [reader.operand()]
        while reader.accept(","):
            choices.append(reader.operand())
        reader.expect(")")
        operand, *operands = self._operands(left, *choices)
        note_distinct(reader.findings, "IN", (operand, *operands))
        if len(operands) > IN_CHOICES_MAX:
            reader.findings.note(
                Stage.OPERANDS,
                f"The IN operator is provided with too many operands; number of operands: {len(operands)}",
            )
        return In(operand, tuple(operands))

    def _operands(self, *nodes: Path | Literal | Call) -> tuple[Operand, ...]:
        return tuple(self._functions.operand(node) for node in nodes)
