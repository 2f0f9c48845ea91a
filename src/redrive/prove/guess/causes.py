"""What an exception says about the guess that it came from: the changes to try, the most probable first."""

from __future__ import annotations

import ast
import enum
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from json import JSONDecodeError
from types import FrameType

from botocore.exceptions import ClientError

from redrive.prove.guess.mends import ID, Content, Exactly, Mend, Raised
from redrive.prove.guess.places import at_path, first_place, parts_of
from redrive.prove.guess.positions import Nothing, enclosing_tests, failing_node, further_steps, statement_at, value_of
from redrive.prove.guess.samples import is_numbers_name, text_for
from redrive.prove.guess.validators import validated
from redrive.prove.guess.watched import EVENT, At, Compared, InVain, Observations, WatchedObject, place_of

MENDS_MAX = 8
"""How many changes are tried for one failure."""
PARTS_MAX = 5
"""How many parts a text is tried with that the code splits."""
NOTES_MAX = 12
"""How many of the last look-ups and comparisons are tried for a failure that names none."""
_AT = datetime(2025, 1, 1, tzinfo=UTC)


def mends_of(raised: Raised, watch: Observations, sources: Mapping[str, At]) -> list[Mend]:
    """The changes that would avoid an exception. `sources` are the places of texts that are no part of an answer or
    an event: the values of variables.
    """
    with watch.paused():
        texts = {**watch.texts, **sources}
        found = [*_told(raised, texts), *_failed(raised, texts), *_asserted(raised), *_noted(raised, watch)]
    unique = {(one.at, repr(one.value)): one for one in reversed(found) if not _is_of_all(one)}
    return list(reversed(unique.values()))[:MENDS_MAX]


def _is_of_all(mend: Mend) -> bool:
    """Whether a change says nothing of a whole document, or would make a text of an event."""
    return not mend.at.path and (mend.value is Content.ANY or mend == Mend(At(EVENT), Content.JSON))


def mends_for_nothing(watch: Observations) -> list[Mend]:
    """The changes to try if a run ends without an effect: what it was compared with, and what it looked up in vain."""
    found: dict[tuple[object, ...], Mend] = {}
    for note in watch.notes:
        mend = Mend(note.at, note.other) if isinstance(note, Compared) else Mend(note.at)
        found.setdefault((mend.at, repr(mend.value)), mend)
    compared = [mend for mend in found.values() if mend.value is not Content.ANY]
    others = [Mend(note.at, note.other) for note in watch.met if note.at.source != EVENT]
    unnamed = [mend for mend in found.values() if mend.value is Content.ANY]
    return [*compared, *unnamed, *dict.fromkeys([*others, *_with_more_parts(watch)])]


def _with_more_parts(watch: Observations) -> Iterator[Mend]:
    """Texts that the code splits, with more parts: it may count them. The last part stays: it may be a file's name."""
    for at, text, separator, _ in dict.fromkeys(watch.splits):
        *first, last = text.split(separator)
        parts = [*first, *(f"part{number}" for number in range(len(first) + 1, PARTS_MAX))]
        for count in range(max(len(first) + 1, 2), PARTS_MAX):
            yield Mend(at, separator.join([*parts[:count], last]))


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
    if missing is not None and (at := first_place(raised)) is not None:
        yield Mend(at.below(missing[1]))
    yield from validated(raised, texts)


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


_MISSING_KEY = re.compile(r"Missing the key (\S+) in the item")
_SPLIT = re.compile(r"expected (?:at least )?(\d+), got")
_OF_OBJECTS = re.compile(r"dict|list|mapping|indices|JSON object")
_ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*(Z|[+-]\d\d:\d\d)$")
_FORMAT = re.compile(r"time data .* does not match format '([^']*)'")


def _failed(raised: Raised, texts: Mapping[str, At]) -> Iterator[Mend]:
    """What the message of Python's own errors says about the values in the failing expression."""
    message, error = str(raised.error), raised.error
    named = [at for text, at in texts.items() if text and (f"'{text}'" in message or f'"{text}"' in message)]
    parts = [(at, value_of(part, raised.frame)) for at, part in parts_of(raised)]
    if not _OF_OBJECTS.search(message):  # A failure that names no object is about one of its members.
        parts = [(at, value) for at, value in parts if not isinstance(value, dict | list)]
    places = [*named, *(at for at, _ in parts)]
    node = failing_node(raised.frame, raised.instruction)
    if isinstance(error, AttributeError | TypeError):
        for at in places:
            yield from (Mend(at, value) for value in _of_kind(message, node))
    if "offset-naive and offset-aware" in message:
        yield from (Mend(at, text[: len("2025-01-01T00:00:00")]) for text, at in texts.items() if _ZONED.match(text))
    if isinstance(error, IndexError | ValueError) and (split := _split(raised, node, message)) is not None:
        yield split
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
        (r"hexadecimal UUID", [ID]), (r"IPv4|IPv6", ["192.0.2.1"]),
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
    is_unbound = isinstance(raised.error, UnboundLocalError)  # The branch that binds the name was not taken.
    required = [note for note in latest if isinstance(note, InVain) and note.is_required]
    node = failing_node(raised.frame, raised.instruction)
    if isinstance(raised.error, LookupError) and required:
        steps = [] if node is None else further_steps(raised.file, node)
        yield from (Mend(at_path(required[0].at, steps)) for _ in steps[:1])
        yield Mend(required[0].at)
    soft = [note for note in latest if isinstance(note, InVain) and not note.is_required]
    is_refused = isinstance(raised.error, ClientError)  # What was made up may be what a service refuses.
    is_own = isinstance(failing_node(raised.frame, raised.instruction), ast.Raise)
    if is_of_none or is_unbound or is_refused or is_own:
        named = [note for note in soft if str(note.at.path[-1]) in str(raised.error)]
        yield from (Mend(note.at) for note in [*named, *soft])
        yield from (Mend(note.at, note.other) for note in latest if isinstance(note, Compared))
