"""The Boolean functions: those of conditions, and those that only rules may use.

Source:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-conditions.html and
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-rules.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.functions import function_of
from redrive.languages.template.resolve import ResolutionScope, resolve
from redrive.languages.template.source import Node
from redrive.languages.template.text import text_of

PARTS_MAX = 10
"""The most conditions of one And or Or."""


@dataclass(frozen=True, slots=True)
class _Logic:
    scope: ResolutionScope
    tests: Mapping[str, _Test]
    named: Callable[[str], bool]

    def holds(self, node: Node) -> bool:
        match node:
            case {"Condition": str() as name, **others} if not others:
                return self.named(name)
        call = function_of(node)
        if call is None or call[0] not in self.tests:
            raise TemplateError(
                "Template format error: Conditions can only be boolean operations on parameters and other conditions"
            )
        name, argument = call
        return self.tests[name](self, argument)

    def text(self, node: Node) -> str:
        return text_of(resolve(node, self.scope))

    def texts(self, node: Node) -> list[str]:
        resolved = resolve(node, self.scope)
        return [text_of(item) for item in resolved] if isinstance(resolved, list) else [text_of(resolved)]


_Test = Callable[[_Logic, Node], bool]


def holds(node: Node, scope: ResolutionScope, tests: Mapping[str, _Test], named: Callable[[str], bool]) -> bool:
    """Whether a condition holds. `tests` are the functions that it may use, `named` evaluates other conditions.

    Errors: TemplateError if it is not a condition.
    """
    return _Logic(scope, tests, named).holds(node)


def conditions_named(node: Node) -> Iterator[str]:
    """The other conditions that a condition names, in source order."""
    if isinstance(node, dict) and len(node) == 1:
        ((function, argument),) = node.items()
        if function == "Condition" and isinstance(argument, str):
            yield argument
        elif function in _JOINING and isinstance(argument, list):
            for part in argument:
                yield from conditions_named(part)


_JOINING = frozenset({"Fn::And", "Fn::Or", "Fn::Not"})


def _parts(name: str, argument: Node) -> list[Node]:
    if not isinstance(argument, list) or not 2 <= len(argument) <= PARTS_MAX:
        raise TemplateError(
            f"Template error: every {name} object requires a list of at least 2 "
            f"and at most {PARTS_MAX} boolean parameters."
        )
    return argument


def _and(logic: _Logic, argument: Node) -> bool:
    # Every part is evaluated, so that a malformed part is always found.
    answers = [logic.holds(part) for part in _parts("Fn::And", argument)]
    return all(answers)


def _or(logic: _Logic, argument: Node) -> bool:
    answers = [logic.holds(part) for part in _parts("Fn::Or", argument)]
    return any(answers)


def _not(logic: _Logic, argument: Node) -> bool:
    match argument:
        case [part]:
            return not logic.holds(part)
        case _:
            raise TemplateError("Template error: every Fn::Not object requires one boolean parameter.")


def _equals(logic: _Logic, argument: Node) -> bool:
    match argument:
        case [first, second]:
            return logic.texts(first) == logic.texts(second)
        case _:
            raise TemplateError("Template error: every Fn::Equals object requires a list of 2 string parameters.")


def _pair(name: str, argument: Node) -> tuple[Node, Node]:
    match argument:
        case [first, second]:
            return first, second
        case _:
            raise TemplateError(f"Template error: every {name} object requires a list of 2 parameters.")


def _contains(logic: _Logic, argument: Node) -> bool:
    items, wanted = _pair("Fn::Contains", argument)
    return logic.text(wanted) in logic.texts(items)


def _each_member_equals(logic: _Logic, argument: Node) -> bool:
    items, wanted = _pair("Fn::EachMemberEquals", argument)
    return all(item == logic.text(wanted) for item in logic.texts(items))


def _each_member_in(logic: _Logic, argument: Node) -> bool:
    items, wanted = _pair("Fn::EachMemberIn", argument)
    return set(logic.texts(items)) <= set(logic.texts(wanted))


CONDITION_TESTS: Mapping[str, _Test] = MappingProxyType(
    {"Fn::And": _and, "Fn::Or": _or, "Fn::Not": _not, "Fn::Equals": _equals}
)
RULE_TESTS: Mapping[str, _Test] = MappingProxyType(
    {
        **CONDITION_TESTS,
        "Fn::Contains": _contains,
        "Fn::EachMemberEquals": _each_member_equals,
        "Fn::EachMemberIn": _each_member_in,
    }
)
