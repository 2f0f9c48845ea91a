"""What validators say about a guess: the errors of pydantic, of jsonschema and of fastjsonschema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from redrive.prove.guess.mends import ID, Content, Mend, Raised
from redrive.prove.guess.places import at_path, first_place
from redrive.prove.guess.reading import EventPath
from redrive.prove.guess.watched import At, place_of


def validated(raised: Raised, texts: Mapping[str, At]) -> Iterator[Mend]:
    """What a validator says: pydantic's errors, and those of jsonschema and fastjsonschema."""
    for error, below in _all_errors(raised.error):
        listed = getattr(error, "errors", None)
        if callable(listed) and type(error).__module__.startswith("pydantic"):
            yield from _by_pydantic(listed(), raised, texts, below)
        rule = getattr(error, "rule", None) or getattr(error, "validator", None)
        if isinstance(rule, str) and (at := first_place(raised)) is not None:
            path = getattr(error, "absolute_path", None) or list(getattr(error, "path", ()))[1:]
            wanted = getattr(error, "rule_definition", None) or getattr(error, "validator_value", None)
            yield from _by_schema(
                rule, wanted, at_path(at, [*below, *path]), getattr(error, "value", getattr(error, "instance", None))
            )


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
        if at is None and (root := first_place(raised)) is not None:
            at = at_path(root, [*below, *location])
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
        ("^time", ["00:00:00"]), ("^uuid", [ID]), ("^url", ["https://example.com/sample"]), ("^json", [Content.JSON]),
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
