"""The members of one object of a definition: read by name, with a diagnostic for each that is not as it must be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from redrive.languages.states.definition import WHOLE, QueryLanguage
from redrive.languages.states.diagnostics import SCHEMA_VALIDATION_FAILED, Diagnostic, Severity
from redrive.languages.states.expressions import Expression, is_expression, parse_data, parse_expression
from redrive.languages.states.intrinsics import MalformedCall
from redrive.languages.states.jsonata import fault_of
from redrive.languages.states.paths import MalformedPath, Path, parse_path, parse_reference
from redrive.languages.states.templates import (
    Literal,
    MalformedTemplate,
    Reached,
    Template,
    parse_field,
    parse_template,
    walk,
)

SECONDS_MAX = 99_999_999


class Faults:
    """The diagnostics found so far."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def add(
        self, message: str, place: str, *, code: str = SCHEMA_VALIDATION_FAILED, severity: Severity = Severity.ERROR
    ) -> None:
        """Note a fault."""
        self.found.append(Diagnostic(code, message, place or "/", severity))


class Fields:
    """An object of a definition. Every read notes its fault; what was never read is told by `refuse_others`."""

    def __init__(self, document: object, place: str, language: QueryLanguage, faults: Faults) -> None:
        self.place = place
        self.language = language
        self.faults = faults
        self._read: set[str] = set()
        self.document: dict[str, object] = {}
        if isinstance(document, dict):
            self.document = document
        else:
            faults.add("Expected value of type Object", place)

    @property
    def is_jsonata(self) -> bool:
        return self.language is QueryLanguage.JSONATA

    def has(self, name: str) -> bool:
        """Whether the member is there."""
        return name in self.document

    def take(self, name: str) -> object:
        """The member as it is; None if it is absent."""
        self._read.add(name)
        return self.document.get(name)

    def fault(self, message: str, name: str = "") -> None:
        """Note a fault of a member, or of the object."""
        self.faults.add(message, f"{self.place}/{name}" if name else self.place)

    def require(self, names: Sequence[str]) -> bool:
        """Whether all members are there."""
        missing = [name for name in names if name not in self.document]
        if missing:
            self.fault(f"These fields are required: [{', '.join(missing)}]")
        return not missing

    def inner(self, name: str) -> Fields:
        """The object that a member is."""
        return Fields(self.take(name), f"{self.place}/{name}", self.language, self.faults)

    def elements(self, name: str, *, may_be_empty: bool = False) -> list[Fields]:
        """The objects in the array that a member is."""
        return [
            Fields(one, f"{self.place}/{name}[{index}]", self.language, self.faults)
            for index, one in enumerate(self.array(name, may_be_empty=may_be_empty))
        ]

    def array(self, name: str, *, may_be_empty: bool = False) -> list[object]:
        """The array that a member is; empty if it is absent."""
        value = self.take(name)
        if name not in self.document:
            return []
        if not isinstance(value, list):
            self.fault("Expected value of type Array", name)
            return []
        if not value and not may_be_empty:
            self.fault("Value cannot be empty", name)
        return value

    def text(self, name: str) -> str | None:
        """A text."""
        value = self.take(name)
        if name in self.document and not isinstance(value, str):
            self.fault("Expected value of type String", name)
        return value if isinstance(value, str) else None

    def chosen(self, name: str, choices: Collection[str]) -> str | None:
        """One of some words."""
        value = self.take(name)
        if name not in self.document or value in choices:
            return value if isinstance(value, str) else None
        self.fault(f"The field '{name}' should have one of these values: [{', '.join(choices)}]", name)
        return None

    def integer(self, name: str, low: int, high: int) -> int | None:
        """An integer within bounds."""
        value = self.take(name)
        if name not in self.document:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fault("Expected value of type Integer", name)
        elif not low <= value <= high:
            self.fault(f"Value is not within range. Minimum: {low}, Maximum: {high}", name)
        else:
            return value
        return None

    def number(self, name: str, low: float, high: float) -> float | None:
        """A number within bounds."""
        value = self.take(name)
        if name not in self.document:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.fault("Expected value of type Number", name)
        elif not low <= value <= high:
            self.fault(f"Value is not within range. Minimum: {low}, Maximum: {high}", name)
        else:
            return float(value)
        return None

    def computed(self, name: str, literal: Callable[[str], object], *, with_path: bool = True) -> Template | None:
        """A literal (read by `literal`), an expression, or in JSONPath the path in the member that ends in Path."""
        path_name = f"{name}Path"
        if with_path and not self.is_jsonata and path_name in self.document:
            if name in self.document:
                self.fault(f"Only one of '{name}' and '{path_name}' can be given")
            path = self.path(path_name)
            return None if path is None else Reached(path)
        if name not in self.document:
            return None
        if self.is_jsonata and isinstance(self.document[name], str) and is_expression(self.document[name]):
            return self.expression(name)
        value = literal(name)
        return None if value is None else Literal(value)

    def expression(self, name: str, field: str = "") -> Expression | None:
        """A JSONata expression."""
        value = self.take(name)
        if not isinstance(value, str) or not is_expression(value):
            self.fault("The value must be a JSONata expression: {% … %}", name)
            return None
        found = parse_expression(value, field or name)
        self._check(found, name)
        return found

    def path(self, name: str) -> Path | None:
        """A path."""
        return self._path(name, parse_path, "Value is not a valid JSONPath")

    def reference(self, name: str) -> Path | None:
        """A reference path."""
        return self._path(name, parse_reference, "Value is not a Reference Path")

    def result_path(self) -> Path | None:
        """ResultPath: `$` where it is absent, None where it is null."""
        if self.take("ResultPath") is None:
            return None if self.has("ResultPath") else WHOLE
        return self.reference("ResultPath") or WHOLE

    def whole(self, name: str) -> Template | None:
        """InputPath or OutputPath: None where it is absent or `$`; null gives an empty object."""
        value = self.take(name)
        if name not in self.document or value == "$":
            return None
        if value is None:
            return Literal({})
        path = self.path(name)
        return None if path is None else Reached(path)

    def located(self, name: str) -> Template | None:
        """A path or a call of an intrinsic function, as ErrorPath has it."""
        value = self.take(name)
        if name not in self.document:
            return None
        try:
            return parse_field(name, value)
        except (MalformedPath, MalformedCall):
            self.fault("Value is not a valid JSONPath or intrinsic function call", name)
            return None

    def template(self, name: str) -> Template | None:
        """A payload template, or in JSONata JSON with expressions."""
        value = self.take(name)
        if name not in self.document:
            return None
        try:
            found = parse_data(value, name) if self.is_jsonata else parse_template(value)
        except MalformedTemplate as error:
            for inner, message in error.faults:
                self.faults.add(message, f"{self.place}/{name}{inner}")
            return None
        for part in walk(found):
            if isinstance(part, Expression):
                self._check(part, name)
        return found

    def refuse_others(self) -> None:
        """Note each member that nobody has read."""
        for name in self.document:
            if name not in self._read:
                self.fault("Field is not supported", name)

    def _check(self, expression: Expression, name: str) -> None:
        why = fault_of(expression.text)
        if why is not None:
            self.fault(f"The JSONata expression '{expression.text}' is not valid: {why}", name)

    def _path(self, name: str, parse: Callable[[str], Path], otherwise: str) -> Path | None:
        value = self.take(name)
        if name not in self.document:
            return None
        try:
            if isinstance(value, str):
                return parse(value)
        except MalformedPath:
            pass
        self.fault(otherwise, name)
        return None
