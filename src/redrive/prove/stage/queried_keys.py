"""The key that a query asks for: the names and types of at most two attributes, the hash key first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from redrive.prove.calls.calls import Params, mapping_of

_TERM = re.compile(r"([#\w.-]+)\s*(=|<=|>=|<|>|BETWEEN\b)\s*(:\w+)", re.IGNORECASE)
_PREFIX = re.compile(r"begins_with\s*\(\s*([#\w.-]+)\s*,\s*(:\w+)", re.IGNORECASE)


def queried_key(params: Params) -> Mapping[str, str]:
    """Return the key attributes and their types; empty for a request without a key condition that can be read.

    Of two attributes that are equal to values, the first is taken for the hash key.
    """
    terms = _terms(params) or _legacy_terms(params)
    hashes = [name for name, operator, _ in terms if operator == "="]
    if not hashes:
        return {}
    types = {name: next(iter(mapping_of(value)), "") for name, _, value in terms}
    names = [hashes[0], *(name for name in types if name != hashes[0])][:2]
    return {name: types[name] for name in names} if all(types[name] in ("S", "N", "B") for name in names) else {}


def _terms(params: Params, expression: str = "KeyConditionExpression") -> list[tuple[str, str, object]]:
    text = str(params.get(expression) or "")
    names, values = (
        mapping_of(params.get("ExpressionAttributeNames")),
        mapping_of(params.get("ExpressionAttributeValues")),
    )
    found = _TERM.findall(text) + [(name, "begins_with", value) for name, value in _PREFIX.findall(text)]
    return [(str(names.get(name, name)), operator, values.get(value)) for name, operator, value in found]


def _legacy_terms(params: Params) -> list[tuple[str, str, object]]:
    found = []
    for name, condition in mapping_of(params.get("KeyConditions")).items():
        listed = mapping_of(condition).get("AttributeValueList")
        value = listed[0] if isinstance(listed, list) and listed else None
        found.append((name, "=" if mapping_of(condition).get("ComparisonOperator") == "EQ" else "", value))
    return found


def queried_values(params: Params) -> Mapping[str, object]:
    """The values that a query asks for, by the names of attributes that are to equal them."""
    terms = _terms(params) or _legacy_terms(params)
    return {name: value for name, operator, value in terms if operator == "=" and isinstance(value, Mapping)}


def filtered_values(params: Params) -> Mapping[str, object]:
    """Values of attributes with which an item meets the conditions of a query or a scan, as far as they compare."""
    terms = [term for name in ("KeyConditionExpression", "FilterExpression") for term in _terms(params, name)]
    found = {}
    for name, operator, value in terms:
        for kind, text in mapping_of(value).items():
            found[name] = {kind: _beside(str(text), operator) if kind in ("N", "S") else text}
    return found


def _beside(text: str, operator: str) -> str:
    """A value that is less or greater than another one, or the same."""
    step = {"<": -1, ">": 1}.get(operator, 0)
    try:
        return str(int(text) + step) if step else text
    except ValueError:
        pass
    year = re.match(r"\d{4}(?=-\d\d)", text)
    if step and year is not None:
        return f"{int(year[0]) + step:04}{text[4:]}"
    return {"<": "!", ">": f"{text}~"}.get(operator, text)
