"""Filter policies of subscriptions: which messages a subscription gets.

The language is that of event patterns. What is told apart here: how a message becomes what a pattern is held against,
and the quotas of SNS.

Source: https://docs.aws.amazon.com/sns/latest/dg/sns-subscription-filter-policies.html
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from redrive.core.documents import Document, load_json
from redrive.languages.event_pattern import Pattern, PatternError, parse
from redrive.services.sns import limits
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.subscription import BODY_SCOPE

_OR = "$or"
_REASON = "Event pattern is not valid. Reason: "


def read_policy(text: str, scope: str, where: str = "FilterPolicy: ") -> Pattern:
    """The pattern of a filter policy. `where` is what the error's sentence names. Errors: InvalidParameterException."""
    if len(text.encode()) > limits.FILTER_POLICY_BYTES_MAX:
        raise invalid(f"{where}Filter policy is too large")
    try:
        pattern = parse(text)
    except PatternError as error:
        raise invalid(where + str(error).removeprefix(_REASON)) from None
    policy = load_json(text)
    if scope != BODY_SCOPE and _is_nested(policy):
        raise invalid(f"{where}Filter policy scope MessageAttributes does not support nested filter policy")
    if len(set(_names(policy))) > limits.FILTER_KEYS_MAX:
        raise invalid(f"{where}Filter policy can not have more than {limits.FILTER_KEYS_MAX} keys")
    if _combinations(pattern, scope) > limits.FILTER_COMBINATIONS_MAX:
        raise invalid(f"{where}Filter policy is too complex")
    return pattern


def attributes_event(attributes: Mapping[str, Document]) -> Document:
    """What a policy on attributes is held against: texts, numbers and arrays of them. Binary values are left out."""
    event: Document = {}
    for name, attribute in attributes.items():
        kind, value = attribute["Type"], attribute["Value"]
        if kind == "String.Array":
            event[name] = _array(value)
        elif kind.startswith("String"):
            event[name] = value
        elif kind.startswith("Number"):
            event[name] = _number(value)
    return event


def body_event(text: str) -> Document | None:
    """What a policy on the body is held against: the values of each path; None if the body is no JSON object.

    Arrays are flattened, so each key of a policy is looked at by itself.
    """
    try:
        body = load_json(text)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    event: Document = {}
    _flatten(body, "", event)
    return event


def _flatten(value: object, path: str, into: Document) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            _flatten(member, f"{path}.{name}" if path else name, into)
    elif isinstance(value, list):
        into.setdefault(path, [])
        for member in value:
            _flatten(member, path, into)
    else:
        into.setdefault(path, []).append(value)


def _array(text: str) -> list[object]:
    try:
        values = load_json(text)
    except ValueError:
        return []
    return [value for value in values if not isinstance(value, dict | list)] if isinstance(values, list) else []


def _number(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return text
        return number if math.isfinite(number) else text


def _names(policy: Document) -> Iterator[str]:
    """The keys of a policy, those inside of alternatives included."""
    for name, value in policy.items():
        if name == _OR and _holds_policies(value):
            for one in value:
                yield from _names(one)
        else:
            yield name


def _is_nested(policy: Document) -> bool:
    return any(
        any(map(_is_nested, value)) if name == _OR and _holds_policies(value) else isinstance(value, dict)
        for name, value in policy.items()
    )


def _holds_policies(value: object) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(one, dict) for one in value)


def _combinations(pattern: Pattern, scope: str) -> int:
    """How many combinations of values a policy has. Alternatives add up; a key of a body counts with its depth."""
    by_body = scope == BODY_SCOPE
    return sum(
        math.prod(
            (len(field.conditions) + field.may_be_absent) * (len(field.path) if by_body else 1) for field in fields
        )
        for fields in pattern.alternatives
    )
