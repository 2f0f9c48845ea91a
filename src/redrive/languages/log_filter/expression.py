"""Patterns over JSON: `{ ($.user.id = 1) && ($.level = "err*" || $.error IS TRUE) }`.

    expression  conjunction { "||" conjunction }
    conjunction term { "&&" term }
    term        "(" expression ")" | selector condition
    condition   "=" | "!=" value | "<" | "<=" | ">" | ">=" number | IS TRUE | IS FALSE | IS NULL | NOT EXISTS

A message that is not JSON matches no such pattern, and a comparison with a missing property is false.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-json-log-events.html
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from redrive.languages.log_filter.filter import Filter
from redrive.languages.log_filter.malformed import MalformedFilter
from redrive.languages.log_filter.selector import parse_selector, select, value_text
from redrive.languages.log_filter.terms import REGEX_PER_PATTERN_MAX, REGEX_WEIGHT, compile_regex, unescaped
from redrive.languages.matching import Wildcard

DEPTH_MAX = 20

_TOKEN = re.compile(
    r"""\s*(?:(?P<selector>\$(?:\.?\['[^']*'\]|\.?\[(?:\d+|\*)\]|\.[^\s.\[\]()=!<>&|{}]+)*)
    |(?P<sign>&&|\|\||!=|<=|>=|[()=<>])
    |"(?P<string>(?:[^"\\]|\\.)*)"
    |%(?P<regex>[^%]*)%
    |(?P<word>[^\s()=!<>&|"%{}]+))""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")

_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Test = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def parse_expression(pattern: str) -> Filter:
    """The test for a pattern in braces. Errors: MalformedFilter."""
    if not pattern.endswith("}"):
        raise MalformedFilter("If a filter pattern starts with '{' it must end with '}'")
    tokens = _tokens(pattern[1:-1])
    test = _Parser(tokens).whole()

    def matches(message: str) -> bool:
        try:
            document = json.loads(message)
        except (ValueError, RecursionError):
            return False
        return isinstance(document, dict | list) and test(document)

    kinds = [token.kind for token in tokens]
    selectors = {token.text: parse_selector(token.text) for token in tokens if token.kind == "selector"}

    def extracted(message: str) -> dict[str, str]:
        try:
            document = json.loads(message)
        except (ValueError, RecursionError):
            return {}
        found = {text: select(document, parts) for text, parts in selectors.items()}
        return {text: value_text(values[0]) for text, values in found.items() if values}

    weight = 1 + kinds.count("selector") + REGEX_WEIGHT * kinds.count("regex")
    return Filter(matches, weight, extracted, references=None)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    text, at = text.rstrip(), 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise MalformedFilter(f"cannot read the pattern from here on: {text[at:].strip()}")
        found.append(_Token(token.lastgroup, token[token.lastgroup]))
        at = token.end()
    if sum(token.kind == "regex" for token in found) > REGEX_PER_PATTERN_MAX:
        raise MalformedFilter(f"a pattern has at most {REGEX_PER_PATTERN_MAX} regular expressions")
    return found


class _Parser:
    """Parses the tokens of one expression, once."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self) -> Test:
        """The test for all tokens."""
        test = self._any(0)
        if self._at < len(self._tokens):
            raise MalformedFilter(f"nothing can follow here: {self._tokens[self._at].text}")
        return test

    def _any(self, depth: int) -> Test:
        tests = [self._all(depth)]
        while self._take("sign", "||"):
            tests.append(self._all(depth))
        return tests[0] if len(tests) == 1 else lambda document: any(test(document) for test in tests)

    def _all(self, depth: int) -> Test:
        tests = [self._term(depth)]
        while self._take("sign", "&&"):
            tests.append(self._term(depth))
        return tests[0] if len(tests) == 1 else lambda document: all(test(document) for test in tests)

    def _term(self, depth: int) -> Test:
        if self._take("sign", "("):
            if depth >= DEPTH_MAX:
                raise MalformedFilter(f"parentheses are nested more than {DEPTH_MAX} deep")
            test = self._any(depth + 1)
            if not self._take("sign", ")"):
                raise MalformedFilter("a parenthesis is not closed")
            return test
        token = self._next()
        if token.kind != "selector":
            raise MalformedFilter(f"a property selector is wanted instead of {token.text}")
        steps = parse_selector(token.text)
        condition = self._condition()
        if condition is None:
            return lambda document: not select(document, steps)
        test_value = condition
        return lambda document: any(test_value(value) for value in select(document, steps))

    def _condition(self) -> Test | None:
        """The test of one value; None for NOT EXISTS, which tests that there is no value."""
        token = self._next()
        match token.kind, token.text:
            case "word", "IS":
                return _is(self._next())
            case "word", "NOT":
                word = self._next().text
                if word != "EXISTS":
                    raise MalformedFilter(f"EXISTS is wanted after NOT instead of {word}")
                return None
            case "sign", "=":
                return _equals(self._next())
            case "sign", "!=":
                equal = _equals(self._next())
                return lambda value: not equal(value)
            case "sign", ("<" | "<=" | ">" | ">=") as sign:
                return _compares(sign, self._next())
            case _:
                raise MalformedFilter(f"a comparison is wanted instead of {token.text}")

    def _next(self) -> _Token:
        if self._at == len(self._tokens):
            raise MalformedFilter("the pattern ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, kind: str, text: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == _Token(kind, text):
            self._at += 1
            return True
        return False


def _is(token: _Token) -> Test:
    constants: dict[str, object] = {"TRUE": True, "FALSE": False, "NULL": None}
    if token.kind != "word" or token.text not in constants:
        raise MalformedFilter(f"TRUE, FALSE or NULL is wanted after IS instead of {token.text}")
    constant = constants[token.text]
    return lambda value: value is constant


def _compares(sign: str, token: _Token) -> Test:
    if token.kind != "word" or not _NUMBER.fullmatch(token.text):
        raise MalformedFilter(f"a number is wanted after {sign} instead of {token.text}")
    compare, number = _ORDER[sign], float(token.text)
    return lambda value: _is_number(value) and compare(float(str(value)), number)


def _equals(token: _Token) -> Test:
    """Numbers are compared by value; other values by their text with the pattern, in which `*` is any text."""
    if token.kind == "regex":
        expression = compile_regex(token.text)
        return lambda value: isinstance(value, str) and expression.search(value)
    if token.kind not in ("string", "word"):
        raise MalformedFilter(f"a value is wanted instead of {token.text}")
    text = unescaped(token.text) if token.kind == "string" else token.text
    wildcard = Wildcard.of(text, one=False)
    number = float(text) if token.kind == "word" and _NUMBER.fullmatch(text) else None

    def equals(value: object) -> bool:
        if number is not None and _is_number(value):
            return float(str(value)) == number
        if isinstance(value, dict | list) or value is None:
            return False
        return wildcard.matches(value if isinstance(value, str) else json.dumps(value))

    return equals


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
