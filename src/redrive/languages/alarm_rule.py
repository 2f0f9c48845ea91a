"""The rules of composite alarms: `ALARM(cpu) AND (NOT OK("disk full") OR AT_LEAST(2, ALARM, (a, b, c)))`.

Reads in linear time, without recursion deeper than NESTING_MAX. NOT is tighter than AND, AND is tighter than OR.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutCompositeAlarm.html
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

NESTING_MAX = 100
STATES = ("ALARM", "OK", "INSUFFICIENT_DATA")
RULES_KEPT = 1_024

_TOKEN = re.compile(r"""\s*(?:(?P<sign>[(),])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s(),"']+))""")
_AMOUNT = re.compile(r"(\d{1,6})(%?)", re.ASCII)


class MalformedRule(ValueError):
    """The text is no rule. `at` is the position of the mistake, counted from 0."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"{reason} at character {at + 1}")
        self.reason = reason
        self.at = at


@dataclass(frozen=True, slots=True)
class InState:
    """Whether an alarm, by name or ARN, is in a state."""

    state: str
    alarm: str


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a rule."""

    operand: Rule


@dataclass(frozen=True, slots=True)
class Joined:
    """Rules joined by AND or OR, two or more."""

    operator: str
    operands: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Whether at least `count` of some alarms are in a state, or with `is_negated`, are not."""

    count: int
    state: str
    is_negated: bool
    alarms: tuple[str, ...]


Rule = InState | Constant | Not | Joined | AtLeast


@functools.lru_cache(RULES_KEPT)
def parse_rule(text: str) -> Rule:
    """Parse a rule. Errors: MalformedRule."""
    parser = _Parser(list(_tokens(text)), len(text))
    found = parser.any_of()
    parser.end()
    return found


def children_of(rule: Rule) -> list[str]:
    """The alarms that a rule names, each once, in the order of the text."""
    return list(dict.fromkeys(_named(rule)))


def elements_of(rule: Rule) -> int:
    """How many elements a rule has: alarms, and the words TRUE and FALSE; AWS counts brackets, too."""
    match rule:
        case InState() | Constant():
            return 1
        case Not(operand):
            return elements_of(operand)
        case Joined(_, operands):
            return sum(map(elements_of, operands))
        case AtLeast():
            return len(rule.alarms)
        case _:
            assert_never(rule)


def is_met(rule: Rule, state_of: Callable[[str], str]) -> bool:
    """Whether a rule is true. `state_of` has the state of an alarm, by what the rule calls it."""
    match rule:
        case InState(state, alarm):
            return state_of(alarm) == state
        case Constant(value):
            return value
        case Not(operand):
            return not is_met(operand, state_of)
        case Joined("AND", operands):
            return all(is_met(operand, state_of) for operand in operands)
        case Joined(_, operands):
            return any(is_met(operand, state_of) for operand in operands)
        case AtLeast(count, state, is_negated, alarms):
            return sum((state_of(alarm) == state) is not is_negated for alarm in alarms) >= count
        case _:
            assert_never(rule)


def _named(rule: Rule) -> Iterator[str]:
    match rule:
        case InState(_, alarm):
            yield alarm
        case Not(operand):
            yield from _named(operand)
        case Joined(_, operands):
            for operand in operands:
                yield from _named(operand)
        case AtLeast():
            yield from rule.alarms
        case _:
            pass


@dataclass(frozen=True, slots=True)
class _Token:
    """A sign, a word, or a quoted text, and its position."""

    kind: str
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise MalformedRule("A quotation mark is not closed", at)
        kind = str(match.lastgroup)
        yield _Token("text" if kind in ("single", "double") else kind, match[kind], match.start(kind))
        at = match.end()


class _Parser:
    """A recursive-descent parser that reads tokens from left to right."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self._tokens = tokens
        self._length = length
        self._at = 0
        self._depth = 0

    def end(self) -> None:
        """Refuse what follows after a rule."""
        if self._at < len(self._tokens):
            raise self._unexpected()

    def any_of(self) -> Rule:
        """Parse rules joined by OR."""
        return self._joined("OR", self._all_of)

    def _all_of(self) -> Rule:
        return self._joined("AND", self._negated)

    def _joined(self, operator: str, read: Callable[[], Rule]) -> Rule:
        found = [read()]
        while self._takes("word", operator):
            found.append(read())
        return found[0] if len(found) == 1 else Joined(operator, tuple(found))

    def _negated(self) -> Rule:
        times = 0
        while self._takes("word", "NOT"):
            times += 1
        found = self._operand()
        return Not(found) if times % 2 else found

    def _operand(self) -> Rule:
        if self._takes("sign", "("):
            self._depth += 1
            if self._depth > NESTING_MAX:
                raise MalformedRule(f"The rule nests deeper than {NESTING_MAX} levels", self._position())
            inner = self.any_of()
            self._expect(")")
            self._depth -= 1
            return inner
        word = self._next("word")
        if word.text in ("TRUE", "FALSE"):
            return Constant(word.text == "TRUE")
        if word.text == "AT_LEAST":
            return self._at_least()
        if word.text not in STATES:
            raise MalformedRule(f"Unexpected '{word.text}'", word.at)
        self._expect("(")
        alarm = self._alarm()
        self._expect(")")
        return InState(word.text, alarm)

    def _at_least(self) -> Rule:
        self._expect("(")
        amount = self._next("word")
        match = _AMOUNT.fullmatch(amount.text)
        if match is None:
            raise MalformedRule(f"'{amount.text}' is no number and no per cent", amount.at)
        self._expect(",")
        is_negated = self._takes("word", "NOT")
        state = self._next("word")
        if state.text not in STATES:
            raise MalformedRule(f"'{state.text}' is no state", state.at)
        self._expect(",")
        self._expect("(")
        alarms = [self._alarm()]
        while self._takes("sign", ","):
            alarms.append(self._alarm())
        self._expect(")")
        self._expect(")")
        return AtLeast(_least(match, alarms, amount.at), state.text, is_negated, tuple(alarms))

    def _alarm(self) -> str:
        """A name or an ARN. Without quotation marks, a name may have blanks between words."""
        if self._at < len(self._tokens) and self._tokens[self._at].kind == "text":
            self._at += 1
            return self._tokens[self._at - 1].text
        words = [self._next("word").text]
        while self._at < len(self._tokens) and self._tokens[self._at].kind == "word":
            words.append(self._next("word").text)
        return " ".join(words)

    def _takes(self, kind: str, text: str) -> bool:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == kind and token.text == text:
                self._at += 1
                return True
        return False

    def _next(self, kind: str) -> _Token:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != kind:
            raise self._unexpected()
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        if not self._takes("sign", sign):
            raise MalformedRule(f"'{sign}' is missing", self._position())

    def _unexpected(self) -> MalformedRule:
        if self._at >= len(self._tokens):
            return MalformedRule("The rule ends too early", self._length)
        token = self._tokens[self._at]
        return MalformedRule(f"Unexpected '{token.text}'", token.at)

    def _position(self) -> int:
        return self._tokens[self._at].at if self._at < len(self._tokens) else self._length


def _least(amount: re.Match[str], alarms: list[str], at: int) -> int:
    number = int(amount[1])
    if amount[2]:
        if not 1 <= number <= 100:
            raise MalformedRule("A share is between 1 % and 100 %", at)
        return -(-number * len(alarms) // 100)
    if not 1 <= number <= len(alarms):
        raise MalformedRule(f"{number} of {len(alarms)} alarms cannot be", at)
    return number
