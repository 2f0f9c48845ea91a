"""The schema of a type's properties: their kinds, and which changes require a new resource.

Values are checked as in CloudFormation: `"300"` is valid as a number, `"true"` as a boolean.
Source: https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isfinite

from redrive.core.documents import Document, dump_json, load_json
from redrive.languages.template import Node

# No service has longer numbers, and Python refuses to parse very long ones.
_INTEGER = re.compile(r"[-+]?[0-9]{1,19}(\.0+)?")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_NUMBER_LENGTH_MAX = 400


class PropertyError(Exception):
    """A property that the type does not accept; the message is the reason of the resource's failure."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Kind(enum.Enum):
    """The kind of value that a property takes; messages show the enum's value."""

    TEXT = "String"
    INTEGER = "Integer"
    NUMBER = "Number"
    BOOLEAN = "Boolean"
    JSON = "JSONObject"
    GROUP = "JSONObject of members"
    MAPPING = "JSONObject of texts"
    LISTING = "JSONArray"
    UNAVAILABLE = "nothing"


@dataclass(frozen=True, slots=True)
class Property:
    """One property. `replaces`: a change of the value creates a new resource."""

    kind: Kind
    is_required: bool = False
    replaces: bool = False
    members: Mapping[str, Property] | None = None
    item: Property | None = None


Properties = Mapping[str, Property]

TEXT = Property(Kind.TEXT)
INTEGER = Property(Kind.INTEGER)
NUMBER = Property(Kind.NUMBER)
BOOLEAN = Property(Kind.BOOLEAN)
JSON = Property(Kind.JSON)
"""A JSON document: an object, or its text."""
UNAVAILABLE = Property(Kind.UNAVAILABLE)
"""A property of a feature that AWS has and redrive does not support."""


def required(known: Property) -> Property:
    """Return the same property, but required."""
    return replace(known, is_required=True)


def replacing(known: Property) -> Property:
    """Return the same property, but a change of its value creates a new resource."""
    return replace(known, replaces=True)


def group(**members: Property) -> Property:
    """An object with these members."""
    return Property(Kind.GROUP, members=members)


def mapping() -> Property:
    """An object with texts as values and any names as keys."""
    return Property(Kind.MAPPING)


def listing(item: Property) -> Property:
    """A list of such items."""
    return Property(Kind.LISTING, item=item)


TAGS = listing(group(Key=required(TEXT), Value=required(TEXT)))


def check_properties(logical_id: str, known: Properties, given: Mapping[str, Node]) -> Document:
    """Return the properties with their values converted to their kinds. Errors: PropertyError."""
    return _group(f"Properties validation failed for resource {logical_id} with message:\n", "#", known, given)


def unknown_warning(known: Properties, given: Mapping[str, Node]) -> str:
    """Return a warning about properties that the type does not have, with suggested names; empty if there are none."""
    sentences = []
    for name in given:
        if name not in known:
            likely = get_close_matches(name, known, n=1)
            hint = f" Did you mean {likely[0]}?" if likely else ""
            sentences.append(f"Left out the property {name}, which redrive does not know of this type.{hint}")
    return " ".join(sentences)


def without_unavailable(known: Properties, given: Mapping[str, Node]) -> tuple[dict[str, Node], list[str]]:
    """Return the supported properties, and the paths of the others."""
    kept: dict[str, Node] = {}
    left_out: list[str] = []
    for name, value in given.items():
        declared = known.get(name)
        if declared is not None and declared.kind is Kind.UNAVAILABLE:
            left_out.append(name)
        elif declared is not None and declared.kind is Kind.GROUP and isinstance(value, dict):
            inside, missing = without_unavailable(declared.members or {}, value)
            kept[name] = inside
            left_out += [f"{name}.{member}" for member in missing]
        else:
            kept[name] = value
    return kept, left_out


def _group(where: str, path: str, known: Properties, given: Mapping[str, Node]) -> Document:
    for name in given:
        if name not in known:
            raise PropertyError(f"Encountered unsupported property {name}")
    for name, declared in known.items():
        if declared.is_required and given.get(name) is None:
            raise PropertyError(f"{where}{path}: required key [{name}] not found")
    return {
        name: _value(where, f"{path}/{name}", known[name], value) for name, value in given.items() if value is not None
    }


def _value(where: str, path: str, known: Property, value: Node) -> object:
    match known.kind, value:
        case Kind.UNAVAILABLE, _:
            name = path.rpartition("/")[2]
            raise PropertyError(
                f"redrive does not serve the property {name}, which AWS has. Take it out, or have it left out: redrive "
                "deploy --on-unknown warn, or the tag redrive:on-unknown=warn of the stack."
            )
        case Kind.GROUP, dict():
            return _group(where, path, known.members or {}, value)
        case Kind.MAPPING, dict():
            return {name: scalar(where, f"{path}/{name}", Kind.TEXT, item) for name, item in value.items()}
        case Kind.LISTING, list():
            item = known.item or TEXT
            return [_value(where, f"{path}/{index}", item, each) for index, each in enumerate(value)]
        case Kind.JSON, dict() | list():
            return value
        case Kind.JSON, str():
            return _document(where, path, value)
        case ((Kind.GROUP | Kind.MAPPING | Kind.LISTING | Kind.JSON), _):
            raise _unexpected(where, path, known.kind, value)
        case kind, _:
            return scalar(where, path, kind, value)


def scalar(where: str, path: str, kind: Kind, value: Node) -> object:
    """Convert one value to its kind. Errors: PropertyError, which names the place of the value."""
    match kind, value:
        case Kind.BOOLEAN, bool():
            return value
        case Kind.BOOLEAN, str() if value.lower() in ("true", "false"):
            return value.lower() == "true"
        case Kind.TEXT, bool():
            return "true" if value else "false"
        case Kind.TEXT, str():
            return value
        case Kind.TEXT, int() | float():
            return str(value)
        case ((Kind.INTEGER | Kind.NUMBER), bool()):
            raise _unexpected(where, path, kind, value)
        case Kind.INTEGER, int() | float() | str() if _INTEGER.fullmatch(str(value)):
            return int(str(value).partition(".")[0])
        case Kind.NUMBER, int() | float() | str() if _is_number(str(value)):
            return float(value)
        case _:
            raise _unexpected(where, path, kind, value)


def _is_number(text: str) -> bool:
    return len(text) <= _NUMBER_LENGTH_MAX and _NUMBER.fullmatch(text) is not None and isfinite(float(text))


def _document(where: str, path: str, text: str) -> object:
    try:
        document = load_json(text)
    except ValueError:
        document = None
    if not isinstance(document, dict | list):
        raise _unexpected(where, path, Kind.JSON, text)
    return document


def _unexpected(where: str, path: str, kind: Kind, value: Node) -> PropertyError:
    found = {bool: "Boolean", str: "String", int: "Integer", float: "Number", list: "JSONArray", dict: "JSONObject"}
    expected = kind.value.partition(" ")[0]
    return PropertyError(f"{where}{path}: expected type: {expected}, found: {found.get(type(value), 'Null')}")


def as_text(document: object) -> str:
    """Convert a property's JSON document to the text that services accept."""
    return document if isinstance(document, str) else dump_json(document)


def always_replacing(**properties: Property) -> dict[str, Property]:
    """Properties of which every change replaces the resource."""
    return {name: replacing(known) for name, known in properties.items()}
