"""Evaluates expressions: jsonata-python's interpreter, with a budget before each step of its work."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from redrive.core.clock import Instant
from redrive.core.entropy import Entropy
from redrive.languages.states.jsonata.additions import Function, additions
from redrive.languages.states.jsonata.budget import (
    CHARACTERS_MAX,
    EVALUATION_COST,
    LAMBDA_FRAMES,
    NATIVE_FRAMES,
    PART_FRAMES,
    Budget,
    too_deep,
)
from redrive.languages.states.jsonata.failures import UNDEFINED, FailedEvaluation, UnsupportedResult
from redrive.languages.states.jsonata.patterns import compile_pattern, matches_whole

_LIMIT = sys.getrecursionlimit()
from jsonata import JException, Jsonata, Parser  # noqa: E402 - the limit of before is set again below.
from jsonata.datetimeutils import DateTimeUtils  # noqa: E402
from jsonata.regex_engine import RegexFlags  # noqa: E402
from jsonata.utils import Utils  # noqa: E402

# The library raises it for the whole process, where deep JSON would then end threads with small stacks.
sys.setrecursionlimit(_LIMIT)

EXPRESSIONS_KEPT = 1_024
EXPRESSION_CHARACTERS_MAX = 100_000
PICTURE_CHARACTERS_MAX = 200
TIMESTAMP_CHARACTERS_MAX = 100

_PLAIN_LITERAL = re.compile(r"[\w\s:,/.'\-]*")
_COMPONENT = re.compile(r"\[[^\[\]]*\]")


def parse(text: str) -> object:
    """The tree of an expression. Errors: FailedEvaluation."""
    found = _parsed(text)
    if isinstance(found, str):
        raise FailedEvaluation(found)
    return found


def evaluate(text: str, variables: Mapping[str, object], entropy: Entropy, now: Instant) -> object:
    """The value of an expression, or UNDEFINED. Errors: FailedEvaluation, UnsupportedResult."""
    tree = parse(text)
    interpreter = _Interpreter(tree, entropy, now)
    try:
        value = interpreter.run({name: _with_nulls(value) for name, value in variables.items()})
        return UNDEFINED if value is None else _without_nulls(value, interpreter.budget, 0)
    except (FailedEvaluation, UnsupportedResult):
        raise
    except JException as error:
        raise FailedEvaluation(_sentence(error)) from None
    except RecursionError:
        raise too_deep() from None
    except ArithmeticError:
        raise FailedEvaluation("D1001: Number out of range") from None
    except Exception as error:  # noqa: BLE001 - a value that the library does not expect fails its expression only.
        raise FailedEvaluation(str(error) or type(error).__name__) from None


@lru_cache(EXPRESSIONS_KEPT)
def _parsed(text: str) -> object:
    """The tree, or why there is none."""
    if len(text) > EXPRESSION_CHARACTERS_MAX:
        return f"S0500: The expression has more than {EXPRESSION_CHARACTERS_MAX} characters"
    try:
        tree = Parser().parse(text, _compile)
    except FailedEvaluation as error:
        return str(error)
    except JException as error:
        return _sentence(error)
    except RecursionError:
        return "S0500: The expression nests too deeply"
    except Exception as error:  # noqa: BLE001 - a text that the library does not expect is malformed.
        return f"S0500: {error}"
    if tree.errors:  # What a tolerant parser would have gone on after.
        return f"S0500: {tree.errors[0]}"
    return tree


def _sentence(error: JException) -> str:
    """The library says Object where JSONata says function."""
    return f"{error.error}: {error}".replace(" Object ", " function ")


def _compile(pattern: str, flags: RegexFlags) -> object:
    return compile_pattern(pattern, ignore_case=flags.case_insensitive, multiline=flags.multiline)


class _Added(Jsonata.JFunctionCallable):  # type: ignore[misc]  # The library has no types.
    """A function of ours, as the interpreter calls it."""

    def __init__(self, name: str, arity: int, function: Function) -> None:
        self._name = name
        self._arity = arity
        self._function = function

    def call(self, input: object, args: list[object] | None) -> object:
        given = [None if one is None else _without_nulls(one, None, 0) for one in args or ()]
        if len(given) > self._arity:
            raise FailedEvaluation(
                f"T0410: Argument {len(given)} of function {self._name} does not match its signature"
            )
        value = self._function([*given, *[None] * (self._arity - len(given))])
        return None if value is None else _with_nulls(value)


class _Guarded(Jsonata.JFunction):  # type: ignore[misc]  # As above.
    """A function of the library's that is passed to another one, which calls it without the interpreter."""

    def __init__(self, inner: Jsonata.JFunction, charge: Callable[[str, list[object], object], None]) -> None:
        super().__init__(inner, None)
        self.signature = inner.signature
        self.function_name = inner.function_name
        self._charge = charge

    def call(self, input: object, args: list[object]) -> object:
        self._charge(self.function_name or "", list(args or ()), input)
        return super().call(input, args)

    def get_number_of_args(self) -> int:
        return int(self.function.get_number_of_args())


class _Interpreter(Jsonata):  # type: ignore[misc]  # As above.
    """One evaluation of one tree."""

    def __init__(self, tree: object, entropy: Entropy, now: Instant) -> None:
        self.budget = Budget()
        self.regex_engine = _compile
        self.timeout = self.stack = None
        self.parser = _QUIET
        self.ast = tree
        self.errors = None
        self.environment = self.create_frame(Jsonata.static_frame)
        for name, (arity, function) in additions(entropy, self.budget).items():
            signature = f"<{'x?' * arity}:x>"
            self.environment.bind(name, Jsonata.JFunction(_Added(name, arity, function), signature))
        self.environment.bind("eval", None)  # Step Functions does not offer it.
        self.timestamp = now
        self.input = None
        self.validate_input = False
        self.output_convert_nulls = False

    def run(self, variables: Mapping[str, object]) -> object:
        """The library's value: None is undefined, and null is an object of its own."""
        frame = self.create_frame(self.environment)
        for name, value in variables.items():
            frame.bind(name, value)
        before = getattr(Jsonata.CURRENT, "jsonata", None)
        Jsonata.CURRENT.jsonata = self
        try:
            return self.eval(self.ast, None, frame)
        finally:
            Jsonata.CURRENT.jsonata = before

    def eval(self, expr: Parser.Symbol, input: object, environment: object) -> object:
        """As the library's, in one frame less: it keeps what $eval would disturb, and finds another instance."""
        self.budget.enter(PART_FRAMES)
        self.budget.charge(EVALUATION_COST)
        value: object = self._eval(expr, input, environment)
        self.budget.leave(PART_FRAMES)
        if expr.type != "variable":
            self.budget.check_size(value)
        return value

    def apply_inner(self, proc: object, args: list[object], input: object, environment: object) -> object:
        frames = LAMBDA_FRAMES
        if isinstance(proc, Jsonata.JFunction):
            frames = NATIVE_FRAMES
            self._charge(proc.function_name or "", args, input)
            args = [_Guarded(one, self._charge) if isinstance(one, Jsonata.JFunction) else one for one in args]
        self.budget.enter(frames)
        value: object = super().apply_inner(proc, args, input, environment)
        self.budget.leave(frames)
        return value

    def evaluate_range_expression(self, lhs: object, rhs: object) -> object:
        if isinstance(lhs, int) and isinstance(rhs, int):
            self.budget.charge(max(0, rhs - lhs + 1))
        return super().evaluate_range_expression(lhs, rhs)

    def evaluate_equality_expression(self, lhs: object, rhs: object, op: object) -> object:
        self.budget.weigh(lhs)
        return super().evaluate_equality_expression(lhs, rhs, op)

    def evaluate_includes_expression(self, lhs: object, rhs: object) -> object:
        self.budget.weigh(rhs)
        return super().evaluate_includes_expression(lhs, rhs)

    def evaluate_string_concat(self, lhs: object, rhs: object) -> object:
        self.budget.weigh(lhs, rhs)
        return super().evaluate_string_concat(lhs, rhs)

    def evaluate_descendants(self, expr: object, input: object) -> object:
        self.budget.weigh(input)
        return super().evaluate_descendants(expr, input)

    def _charge(self, name: str, args: list[object], input: object) -> None:
        """Count what a function of the library is about to do, and refuse what would take too long."""
        if name not in _IMMEDIATE:
            self.budget.weigh(*(args or [input]))
        match name:
            case "pad" if len(args) > 1 and isinstance(args[1], (int, float)):
                _check_length(abs(args[1]))
            case "replace" if len(args) > 2 and isinstance(args[0], str) and isinstance(args[2], str):
                found = args[0].count(args[1]) if isinstance(args[1], str) and args[1] else len(args[0]) + 1
                _check_length(len(args[0]) + found * len(args[2]))
            case "join" if len(args) > 1 and isinstance(args[0], list) and isinstance(args[1], str):
                _check_length(len(args[0]) * len(args[1]))
            case "formatNumber" | "formatInteger" | "parseInteger" | "fromMillis" if len(args) > 1:
                _check_picture(args[1])
            case "toMillis" if len(args) > 1 and args[1] is not None:
                _check_reading(args[0], args[1])
            case _:
                pass


_IMMEDIATE: Final = frozenset(
    {"count", "each", "exists", "filter", "length", "map", "millis", "now", "reduce", "sift", "single", "type"}
)
"""What goes through its arguments by evaluating something for each, which is counted, or not at all."""


class _Quiet:
    """What the interpreter reads of a parser."""

    dbg = False


_QUIET: Final = _Quiet()


def _check_length(characters: float) -> None:
    if characters > CHARACTERS_MAX:
        raise FailedEvaluation(f"A text would have more than {CHARACTERS_MAX} characters")


def _check_picture(picture: object) -> None:
    if isinstance(picture, str) and len(picture) > PICTURE_CHARACTERS_MAX:
        raise FailedEvaluation(f"D3136: A picture has more than {PICTURE_CHARACTERS_MAX} characters")


def _check_reading(timestamp: object, picture: object) -> None:
    """The library makes a backtracking pattern of a picture; only pictures and texts go there that cost little."""
    _check_picture(picture)
    if not isinstance(timestamp, str) or not isinstance(picture, str):
        return
    if len(timestamp) > TIMESTAMP_CHARACTERS_MAX:
        raise FailedEvaluation(f"D3110: A timestamp has more than {TIMESTAMP_CHARACTERS_MAX} characters")
    if not _PLAIN_LITERAL.fullmatch(_COMPONENT.sub("", picture)):
        raise FailedEvaluation("D3136: A picture to read by has letters, digits, blanks and :,/.'- beside components")
    parts = DateTimeUtils._generate_regex(DateTimeUtils._analyse_datetime_picture(picture)).parts  # noqa: SLF001 - above.
    if not matches_whole("".join(f"({part.regex})" for part in parts), timestamp):
        raise FailedEvaluation(f"D3110: The timestamp {timestamp} does not fit the picture {picture}")


def _with_nulls(value: object) -> object:
    """A value in which null is the library's own; a value without null is returned as it is."""
    if value is None:
        null: object = Utils.NULL_VALUE
        return null
    if isinstance(value, dict):
        members = {name: _with_nulls(one) for name, one in value.items()}
        return value if all(one is value[name] for name, one in members.items()) else members
    if isinstance(value, list):
        elements = [_with_nulls(one) for one in value]
        return value if all(one is other for one, other in zip(elements, value, strict=True)) else elements
    return value


def _without_nulls(value: object, budget: Budget | None, depth: int) -> object:
    """A value of the library's as JSON. Errors: UnsupportedResult, FailedEvaluation for a value that is too large."""
    if budget is not None:
        budget.charge(2)
    if depth > 200:
        raise too_deep()
    match value:
        case bool() | str():
            return value
        case None:
            return None
        case int():
            return value
        case float():
            if not math.isfinite(value):
                raise UnsupportedResult
            return value
        case dict():
            return {str(name): _without_nulls(one, budget, depth + 1) for name, one in value.items()}
        case list():
            return [_without_nulls(one, budget, depth + 1) for one in value]
        case _ if value is Utils.NULL_VALUE:
            return None
        case _:
            raise UnsupportedResult
