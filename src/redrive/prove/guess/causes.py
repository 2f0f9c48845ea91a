"""What an exception says about the guess that it came from: the changes to try, the most probable first."""

from __future__ import annotations

import ast
import enum
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from json import JSONDecodeError
from types import FrameType

from redrive.prove.guess.positions import Nothing, enclosing_tests, failing_node, further_steps, statement_at, value_of
from redrive.prove.guess.reading import EventPath
from redrive.prove.guess.samples import is_numbers_name, text_for
from redrive.prove.guess.watched import EVENT, At, Compared, InVain, Observations, WatchedObject, place_of

MENDS_MAX = 8
"""How many changes are tried for one failure."""
NOTES_MAX = 12
"""How many of the last look-ups and comparisons are tried for a failure that names none."""
_AT = datetime(2025, 1, 1, tzinfo=UTC)
_ID = "5068e532-bca5-4efc-be63-c93601fe6344"


class Content(enum.Enum):
    """What stands at a place whose value is not said."""

    ANY = "a value"
    """What its name, and what is read below it, ask for."""
    JSON = "a text in JSON"


@dataclass(frozen=True, slots=True)
class Mend:
    """A change of a guess: another value at a place."""

    at: At
    value: object = Content.ANY


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception in a frame of the user's code, at the instruction that it came from."""

    error: BaseException
    frame: FrameType
    instruction: int
    line: int

    @property
    def file(self) -> str:
        """The file of the code."""
        return self.frame.f_code.co_filename


def mends_of(raised: Raised, watch: Observations, sources: Mapping[str, At]) -> list[Mend]:
    """The changes that would avoid an exception. `sources` are the places of texts that are no part of an answer or
    an event: the values of variables.
    """
    with watch.paused():
        texts = {**watch.texts, **sources}
        found = [*_told(raised, texts), *_failed(raised, texts), *_asserted(raised), *_noted(raised, watch)]
    unique = {(one.at, repr(one.value)): one for one in reversed(found) if one.at.path or one.value is not Content.ANY}
    return list(reversed(unique.values()))[:MENDS_MAX]


def mends_for_nothing(watch: Observations) -> list[Mend]:
    """The changes to try if a run ends without an effect: what it was compared with, and what it looked up in vain."""
    found: dict[tuple[object, ...], Mend] = {}
    for note in watch.notes:
        mend = Mend(note.at, note.other) if isinstance(note, Compared) else Mend(note.at)
        found.setdefault((mend.at, repr(mend.value)), mend)
    compared = [mend for mend in found.values() if mend.value is not Content.ANY]
    others = [Mend(note.at, note.other) for note in watch.met if note.at.source != EVENT]
    return [*compared, *(mend for mend in found.values() if mend.value is Content.ANY), *dict.fromkeys(others)]


def _told(raised: Raised, texts: Mapping[str, At]) -> Iterator[Mend]:
    """What the exception itself says: of validators, of `json.loads`, of a look-up by a text of the event."""
    error = raised.error
    if isinstance(error, JSONDecodeError):
        at = place_of(error.doc) or texts.get(error.doc)
        if at is not None:
            yield Mend(at, Content.JSON)
    if isinstance(error, KeyError) and error.args and (at := place_of(error.args[0])) is not None:
        node = failing_node(raised.frame, raised.instruction)
        held = value_of(node.value, raised.frame) if isinstance(node, ast.Subscript) else Nothing
        if isinstance(held, dict):
            yield from (Mend(at, key) for key in list(held)[:MENDS_MAX] if isinstance(key, str | int))
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], int):
        node = failing_node(raised.frame, raised.instruction)
        at = place_of(value_of(node.value, raised.frame)) if isinstance(node, ast.Subscript) else None
        if at is not None:
            yield Mend(at, [])
    yield from _constructed(raised)
    missing = _MISSING_KEY.search(str(error))
    if missing is not None and (at := _first_place(raised)) is not None:
        yield Mend(at.below(missing[1]))
    yield from _validated(raised, texts)


def _validated(raised: Raised, texts: Mapping[str, At]) -> Iterator[Mend]:
    """What a validator says: pydantic's errors, and those of jsonschema and fastjsonschema."""
    for error, below in _all_errors(raised.error):
        listed = getattr(error, "errors", None)
        if callable(listed) and type(error).__module__.startswith("pydantic"):
            yield from _by_pydantic(listed(), raised, texts, below)
        rule = getattr(error, "rule", None) or getattr(error, "validator", None)
        if isinstance(rule, str) and (at := _first_place(raised)) is not None:
            path = getattr(error, "absolute_path", None) or list(getattr(error, "path", ()))[1:]
            wanted = getattr(error, "rule_definition", None) or getattr(error, "validator_value", None)
            yield from _by_schema(
                rule, wanted, _at(at, [*below, *path]), getattr(error, "value", getattr(error, "instance", None))
            )


class Exactly(dict[str, object]):
    """An object with these members and no others."""


def _constructed(raised: Raised) -> Iterator[Mend]:
    """The members that a function takes which is given an object's members: `Order(**order)`."""
    node = failing_node(raised.frame, raised.instruction) if isinstance(raised.error, TypeError) else None
    node = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        at, held = _object_in(keyword.value, raised.frame) if keyword.arg is None else (None, None)
        called = value_of(node.func, raised.frame)
        if at is None or not isinstance(held, dict) or not callable(called):
            continue
        try:
            taken = inspect.signature(called).parameters.values()
        except (TypeError, ValueError):
            continue
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
            continue
        named = {one.arg for one in node.keywords}
        given = [one for one in taken if one.kind is not inspect.Parameter.POSITIONAL_ONLY and one.name not in named]
        needed = [one for one in given if one.name in held or one.default is inspect.Parameter.empty]
        yield Mend(at, Exactly({one.name: dict.get(held, one.name) or _of_annotation(one) for one in needed}))


def _object_in(node: ast.expr, frame: FrameType) -> tuple[At | None, object]:
    """The object that an expression has, or that it decodes: `json.loads(record["body"])`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="loads") | ast.Name(id="loads"), args=[text, *_]):
            held = value_of(text, frame)
            try:
                return place_of(held), json.loads(held) if isinstance(held, str) else None
            except ValueError:
                return None, None
        case _:
            held = value_of(node, frame)
            return place_of(held), held


def _of_annotation(parameter: inspect.Parameter) -> object:
    by_name = {kind.__name__: value for kind, value in _OF_TYPE.items() if isinstance(kind, type)}
    told = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    if (found := by_name.get(told.partition("[")[0].lower())) is not None and found != "sample":
        return found
    return 1 if is_numbers_name(parameter.name) else text_for(parameter.name)


_ENVELOPES: Mapping[str, EventPath] = {
    "sqs": ("Records", 0, "body"), "sns": ("Records", 0, "Sns", "Message"), "event_bridge": ("detail",),
    "kinesis": ("Records", 0, "kinesis", "data"), "dynamodb": ("Records", 0, "dynamodb", "NewImage"),
}  # fmt: skip
"""What the envelopes of Powertools unwrap, by the names of their modules."""


def _all_errors(error: BaseException | None) -> Iterator[tuple[BaseException, EventPath]]:
    """An exception, its causes, and those of the records of a batch; with the path of what each is about."""
    while error is not None:
        yield error, _unwrapped(error)
        for child in getattr(error, "child_exceptions", None) or ():
            inner = child[1] if isinstance(child, tuple) and len(child) > 1 else None
            if isinstance(inner, BaseException):
                yield inner, _RECORD
        error = error.__cause__ or error.__context__


_RECORD: EventPath = ("Records", 0)


def _unwrapped(error: BaseException) -> EventPath:
    """The path of what an envelope has unwrapped, if one is in the traceback."""
    trace = error.__traceback__
    while trace is not None:
        module, _, name = trace.tb_frame.f_code.co_filename.removesuffix(".py").rpartition("/")
        if module.endswith("parser/envelopes") and name in _ENVELOPES:
            return _ENVELOPES[name]
        trace = trace.tb_next
    return ()


def _by_pydantic(
    errors: Iterable[Mapping[str, object]], raised: Raised, texts: Mapping[str, At], below: EventPath
) -> Iterator[Mend]:  # fmt: skip
    for one in errors:
        given = one.get("input")
        location = [step for step in one.get("loc", ()) if isinstance(step, str | int)]  # type: ignore[attr-defined]
        kind = str(one.get("type"))
        at = place_of(given) or (texts.get(given) if isinstance(given, str) else None)
        if at is not None and kind == "missing" and location:
            at = at.below(location[-1])
        if at is None and (root := _first_place(raised)) is not None:
            at = _at(root, [*below, *location])
        if at is None:
            continue
        context = one.get("ctx")
        expected = str(context.get("expected", "")) if isinstance(context, Mapping) else ""
        yield from (Mend(at, value) for value in _values_of_kind(kind, expected, str(one.get("msg"))))


def _values_of_kind(kind: str, expected: str, message: str) -> list[object]:
    """Values for a kind of pydantic's errors."""
    first = re.findall(r"'([^']*)'", expected)
    by_name: list[tuple[str, list[object]]] = [
        ("missing", [Content.ANY]), ("literal_error|enum", [*first]), ("^(int|float|decimal|finite)", [1, "1"]),
        ("^bool", [True]), ("datetime|timezone", ["2025-01-01T00:00:00Z"]), ("^date", ["2025-01-01"]),
        ("^time", ["00:00:00"]), ("^uuid", [_ID]), ("^url", ["https://example.com/sample"]), ("^json", [Content.JSON]),
        ("^(list|tuple|set|too_short)", [[]]), ("^(dict|model|mapping|dataclass)", [{}]), ("^string_type", ["sample"]),
        ("greater_than", [10]), ("less_than", [0]), ("string_too_long", ["a"]), ("string_too_short", ["sample" * 6]),
    ]  # fmt: skip
    for pattern, values in by_name:
        if re.search(pattern, kind):
            return values
    return ["someone@example.com"] if "email" in message else []


def _by_schema(rule: str, wanted: object, at: At, given: object) -> Iterator[Mend]:
    """Values for a keyword of JSON Schema."""
    definition = wanted if isinstance(wanted, Mapping) else {rule: wanted}
    kinds = definition.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    listed = definition.get(rule)
    members = listed if isinstance(listed, list) else []
    match rule:
        case "required":
            held = given if isinstance(given, dict) else {}
            yield from (Mend(at.below(str(name))) for name in members if name not in set(held))
        case "type":
            values = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "string": "sample"}
            if kind in values:
                yield Mend(at, values[kind])
        case "enum":
            yield from (Mend(at, choice) for choice in members[:1])
        case "minimum" | "exclusiveMinimum" if isinstance(listed, int):
            yield Mend(at, listed + 1)
        case _:
            pass


def _first_place(raised: Raised) -> At | None:
    """The first value with a place in the failing expression."""
    return next((at for at, _ in _parts(raised)), None)


def _parts(raised: Raised) -> Iterator[tuple[At, ast.AST]]:
    """The values with a place in the failing expression, or its statement: the outermost first."""
    node = failing_node(raised.frame, raised.instruction)
    for part in () if node is None else ast.walk(node):
        at = place_of(value_of(part, raised.frame))
        if at is not None:
            yield at, part


def _at(root: At, path: Iterable[object]) -> At:
    for step in path:
        root = root.below(step if isinstance(step, int) else str(step))
    return root


_MISSING_KEY = re.compile(r"Missing the key (\S+) in the item")
_SPLIT = re.compile(r"expected (?:at least )?(\d+), got")
_FORMAT = re.compile(r"time data .* does not match format '([^']*)'")


def _failed(raised: Raised, texts: Mapping[str, At]) -> Iterator[Mend]:
    """What the message of Python's own errors says about the values in the failing expression."""
    message, error = str(raised.error), raised.error
    named = [at for text, at in texts.items() if text and (f"'{text}'" in message or f'"{text}"' in message)]
    places = [*named, *(at for at, _ in _parts(raised))]
    node = failing_node(raised.frame, raised.instruction)
    if isinstance(error, AttributeError | TypeError):
        for at in places:
            yield from (Mend(at, value) for value in _of_kind(message, node))
    if isinstance(error, IndexError | ValueError) and (parts := _split(raised, node, message)) is not None:
        yield parts
    if isinstance(error, ValueError | ArithmeticError | LookupError) or type(error).__name__.endswith("Error"):
        for at in dict.fromkeys(places):
            yield from (Mend(at, value) for value in _in_form(message, error, node, raised.frame))


def _of_kind(message: str, node: ast.AST | None) -> list[object]:
    """Values of the kind that an operation asks for."""
    is_loop = isinstance(node, ast.For | ast.comprehension) or "iterable" in message
    by_message: list[tuple[str, list[object]]] = [
        ("must be str, bytes or bytearray, not", [Content.JSON]),
        ("(string|list) indices must be|a mapping", [{}]),
        ("has no attribute '(get|items|keys|values|pop|update|setdefault)'", [{}]),
        (r"has no attribute '(append|extend|sort|insert)'", [[]]),
        (r"has no attribute '(lower|upper|split|strip|encode|startswith|endswith|replace|format|isdigit)'", ["sample"]),
        ("fromisoformat: argument must be str", ["2025-01-01T00:00:00+00:00"]),
        ("must be str, not int|can only concatenate str|string or bytes|'int' has no len", ["sample", 1]),
        (r"'int' object is not (iterable|subscriptable)", [[], {}] if is_loop else [{}, []]),
        ("operand|can't multiply|not supported between|numeric|integer|number|<class 'int'>|Float types", [1]),
        (r"valid types: <class 'dict'>", [{}]), (r"valid types: .*<class 'list'>", [[]]),
    ]  # fmt: skip
    return next((values for pattern, values in by_message if re.search(pattern, message)), [])


def _in_form(message: str, error: BaseException, node: ast.AST | None, frame: FrameType) -> list[object]:
    """Values in the form that a conversion asks for."""
    asked = _FORMAT.search(message)
    if asked is not None:
        return [_AT.strftime(asked[1])]
    by_message: list[tuple[str, list[object]]] = [
        (r"invalid literal for int|could not convert string to float|ConversionSyntax|InvalidOperation", [1, "1"]),
        (r"isoformat|unconverted data|Unknown string format|date", ["2025-01-01T00:00:00+00:00", "2025-01-01"]),
        (r"hexadecimal UUID", [_ID]), (r"IPv4|IPv6", ["192.0.2.1"]),
        (r"padding|base64|non-alphabet", ["e30="]), ("Parameter validation failed", _of_kind(message, node)),
        ("[Ee]mail", ["someone@example.com"]), ("[Uu][Rr][Ll]", ["https://example.com/sample"]),
    ]  # fmt: skip
    found = next((values for pattern, values in by_message if re.search(pattern, f"{type(error)} {message}")), [])
    if isinstance(node, ast.Call):
        kind = value_of(node.func, frame)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return [next(iter(kind)).value, *found]
    return found


def _split(raised: Raised, node: ast.AST | None, message: str) -> Mend | None:
    """A text with as many parts as the handler takes from it: `a, b = text.split(":")`, `text.split("/")[2]`."""
    unpacked = _SPLIT.search(message)
    count = int(unpacked[1]) if unpacked else 0
    for part in () if node is None else ast.walk(node):
        if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant | ast.UnaryOp):
            index = value_of(part.slice, raised.frame)
            if isinstance(part.slice, ast.UnaryOp):
                index = value_of(part.slice.operand, raised.frame)
                index = index - 1 if isinstance(index, int) else index  # `[-2]` asks for two parts.
            count = max(count, index + 1) if isinstance(index, int) else count
    statement = node if not isinstance(node, ast.Name | ast.Tuple) else statement_at(raised.file, raised.line)
    for part in () if statement is None else ast.walk(statement):
        match part:
            case ast.Call(func=ast.Attribute(value=text, attr="split" | "rsplit" | "partition"), args=[separator, *_]):
                at, by = place_of(value_of(text, raised.frame)), value_of(separator, raised.frame)
                if at is not None and isinstance(by, str) and count:
                    return Mend(at, by.join(["sample", *(f"part{number}" for number in range(2, count + 1))]))
            case _:
                pass
    return None


def _asserted(raised: Raised) -> Iterator[Mend]:
    """What would make the tests false under which the user's own code raises."""
    node = failing_node(raised.frame, raised.instruction)
    if isinstance(node, ast.Raise | ast.Assert):
        for test in enclosing_tests(raised.file, raised.line):
            yield from _making(test, False, raised.frame)


_OF_TYPE: Mapping[object, object] = {int: 1, float: 1.5, str: "sample", list: [], dict: {}, bool: True}
"""Values of Python's types."""


def _making(test: ast.expr, wanted: bool, frame: FrameType) -> Iterator[Mend]:
    """Changes that make a test true, or false."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _making(inner, not wanted, frame)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _making(value, wanted, frame)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from _comparing(left, operator, right, wanted, frame)
        case ast.Call(func=ast.Name(id="isinstance"), args=[tested, kind]) if wanted:
            at, kinds = place_of(value_of(tested, frame)), value_of(kind, frame)
            first: object = kinds[0] if isinstance(kinds, tuple | list) and kinds else kinds
            if at is not None and first in _OF_TYPE:
                yield Mend(at, _OF_TYPE[first])
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp(elt=inner, generators=[each])]):
            if name == ("all" if wanted else "any"):
                for one in _listed(value_of(each.iter, frame)):
                    yield from _with_name(inner, each.target, one, wanted, frame)
        case _ if wanted and (at := place_of(value_of(test, frame))) is not None:
            yield Mend(at)
        case _:
            pass


def _comparing(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, wanted: bool, frame: FrameType
) -> Iterator[Mend]:  # fmt: skip
    one, other = value_of(left, frame), value_of(right, frame)
    at = place_of(one)
    is_equality = isinstance(operator, ast.Eq) if wanted else isinstance(operator, ast.NotEq)
    is_member = isinstance(operator, ast.In) if wanted else isinstance(operator, ast.NotIn)
    if is_member and isinstance(other, WatchedObject) and isinstance(one, str):
        yield Mend(other.redrive_at.below(str(one)))
    elif at is not None and is_member:
        yield from (Mend(at, choice) for choice in _listed(other)[:1])
    elif at is not None and is_equality and isinstance(other, str | int):
        yield Mend(at, other)
    elif at is not None and isinstance(other, int | float) and isinstance(one, int | float):
        yield from (Mend(at, value) for value in (other + 1, other - 1))


def _listed(value: object) -> list[str | int]:
    if isinstance(value, dict | list | tuple | set | frozenset):
        members = sorted(value) if isinstance(value, set | frozenset) else list(value)
        return [one for one in members if isinstance(one, str | int)]
    return []


class _Named(ast.NodeTransformer):
    def __init__(self, name: str, value: str | int) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(self._value) if node.id == self._name else node


def _with_name(inner: ast.expr, target: ast.expr, value: str | int, wanted: bool, frame: FrameType) -> Iterator[Mend]:
    if isinstance(target, ast.Name):
        copied = ast.parse(ast.unparse(inner), mode="eval").body
        yield from _making(_Named(target.id, value).visit(copied), wanted, frame)


def _noted(raised: Raised, watch: Observations) -> Iterator[Mend]:
    """What was looked up last before the failure, and then what was compared."""
    latest = list(reversed(watch.notes[-NOTES_MAX:]))
    is_of_none = "NoneType" in str(raised.error)
    required = [note for note in latest if isinstance(note, InVain) and note.is_required]
    node = failing_node(raised.frame, raised.instruction)
    if isinstance(raised.error, LookupError) and required:
        steps = [] if node is None else further_steps(raised.file, node)
        yield from (Mend(_at(required[0].at, steps)) for _ in steps[:1])
        yield Mend(required[0].at)
    soft = [note for note in latest if isinstance(note, InVain) and not note.is_required]
    if is_of_none or isinstance(failing_node(raised.frame, raised.instruction), ast.Raise):
        named = [note for note in soft if str(note.at.path[-1]) in str(raised.error)]
        yield from (Mend(note.at) for note in [*named, *soft])
        yield from (Mend(note.at, note.other) for note in latest if isinstance(note, Compared))


def path_told(path: EventPath) -> str:
    """A path as the user would write it: `order.lines.0.sku`."""
    return ".".join(map(str, path))
