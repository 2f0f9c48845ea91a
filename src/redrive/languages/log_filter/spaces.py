"""Patterns over fields between spaces: `[ip, user, ..., status=4*, bytes>1000]`.

    pattern    "[" field { "," field } "]"
    field      "..." | name | condition { ("&&" | "||") condition } | nothing
    condition  name ("=" | "!=") ( value | "%" regex "%" ) | name ("<" | "<=" | ">" | ">=") number

What stands in brackets or quotation marks in a message is one field. A message matches with as many fields as the
pattern has, or with any number of fields in the place of `...`.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-space-delimited-log-events.html
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from redrive.languages.log_filter.filter import Filter
from redrive.languages.log_filter.malformed import MalformedFilter
from redrive.languages.log_filter.terms import REGEX_PER_PATTERN_MAX, REGEX_WEIGHT, compile_regex, unescaped
from redrive.languages.matching import Wildcard

_FIELD = re.compile(r'\[([^\]]*)\]|"((?:[^"\\]|\\.)*)"|(\S+)')
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>&&|\|\||!=|<=|>=|[=<>,()])|"(?P<string>(?:[^"\\]|\\.)*)"|%(?P<regex>[^%]*)%
    |(?P<word>[^\s=<>!,()"%&|]+))""",
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_$][\w$.-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ELLIPSIS = "..."
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a pattern; without a test it may be anything."""

    name: str
    test: Test | None


@dataclass(frozen=True, slots=True)
class SpacePattern:
    """The fields before and after the `...`, if there is one, else all of them before it."""

    before: Sequence[_Field]
    after: Sequence[_Field]
    has_ellipsis: bool

    def matched(self, message: str) -> Mapping[str, str] | None:
        """The named fields of a message that matches, each with a dollar sign before its name; None for no match."""
        parts = [first or second or third for first, second, third in _FIELD.findall(message)]
        fixed = len(self.before) + len(self.after)
        if len(parts) < fixed or (len(parts) > fixed and not self.has_ellipsis):
            return None
        values = [*parts[: len(self.before)], *parts[len(parts) - len(self.after) :]]
        found: dict[str, str] = {}
        for index, (field, value) in enumerate(zip((*self.before, *self.after), values, strict=True), 1):
            if field.test is not None and not field.test(value):
                return None
            found[f"${field.name}" if field.name else f"${index}"] = value
        return found


def parse_spaces(pattern: str) -> Filter:
    """The test for a pattern in brackets. Errors: MalformedFilter."""
    if not pattern.endswith("]"):
        raise MalformedFilter("If a filter pattern starts with '[' it must end with ']'")
    fields, regexes = _Reader(pattern[1:-1]).fields()
    ellipses = [index for index, field in enumerate(fields) if field.name == _ELLIPSIS]
    if len(ellipses) > 1:
        raise MalformedFilter("a pattern has at most one ...")
    names = [field.name for field in fields if field.name]
    if len(set(names)) < len(names):
        raise MalformedFilter("two fields have the same name")
    at = ellipses[0] if ellipses else len(fields)
    spaces = SpacePattern(fields[:at], fields[at + 1 :], bool(ellipses))
    references = frozenset(f"${name}" for name in names if name != _ELLIPSIS)
    weight = 2 + len(fields) + REGEX_WEIGHT * regexes
    return Filter(
        lambda message: spaces.matched(message) is not None, weight, lambda message: spaces.matched(message) or {},
        references,
    )  # fmt: skip


class _Reader:
    """Reads the fields of one pattern, once."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise MalformedFilter(f"cannot read the pattern from here on: {text[at:].strip()}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    def fields(self) -> tuple[list[_Field], int]:
        """All fields, and how many regular expressions there are."""
        found = [self._field()]
        while self._take(","):
            found.append(self._field())
        if self._at < len(self._tokens):
            raise MalformedFilter(f"a comma is wanted instead of {self._tokens[self._at][1]}")
        regexes = sum(kind == "regex" for kind, _ in self._tokens)
        if regexes > REGEX_PER_PATTERN_MAX:
            raise MalformedFilter(f"a pattern has at most {REGEX_PER_PATTERN_MAX} regular expressions")
        return found, regexes

    def _field(self) -> _Field:
        if self._at == len(self._tokens) or self._tokens[self._at] == ("sign", ","):
            return _Field("", None)
        closes = self._take("(")
        kind, name = self._next()
        if name == _ELLIPSIS:
            return _Field(_ELLIPSIS, None)
        if kind != "word" or not _NAME.fullmatch(name):
            raise MalformedFilter(f"a name of a field is wanted instead of {name}")
        if self._at == len(self._tokens) or self._tokens[self._at] in (("sign", ","), ("sign", ")")):
            test: Test | None = None
        else:
            test = self._conditions(name)
        if closes and not self._take(")"):
            raise MalformedFilter("a parenthesis is not closed")
        return _Field(name, test)

    def _conditions(self, name: str) -> Test:
        """The test of `= 1 || name = 2 && …`; the first name is already read."""
        either = [[self._condition()]]
        while True:
            if self._take("&&"):
                self._same(name)
                either[-1].append(self._condition())
            elif self._take("||"):
                self._same(name)
                either.append([self._condition()])
            else:
                break
        return lambda value: any(all(test(value) for test in tests) for tests in either)

    def _same(self, name: str) -> None:
        _, other = self._next()
        if other != name:
            raise MalformedFilter(f"the conditions of a field are about {name}, not about {other}")

    def _condition(self) -> Test:
        _, sign = self._next()
        kind, text = self._next()
        if sign in ("=", "!="):
            equal = _equals(kind, text)
            return equal if sign == "=" else lambda value: not equal(value)
        if sign not in _ORDER or kind != "word" or not _NUMBER.fullmatch(text):
            raise MalformedFilter(f"a comparison is wanted instead of {sign}{text}")
        compare, number = _ORDER[sign], float(text)
        return lambda value: _NUMBER.fullmatch(value) is not None and compare(float(value), number)

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise MalformedFilter("the pattern ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, sign: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == ("sign", sign):
            self._at += 1
            return True
        return False


def _equals(kind: str, text: str) -> Test:
    if kind == "regex":
        return compile_regex(text).search
    if kind not in ("string", "word"):
        raise MalformedFilter(f"a value is wanted instead of {text}")
    wildcard = Wildcard.of(unescaped(text) if kind == "string" else text, one=False)
    return wildcard.matches
