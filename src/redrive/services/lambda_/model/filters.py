"""Filters of mappings: which records reach the function. No transaction, no clock.

A filter is a pattern in EventBridge's language. One of the filters has to match. What it sees of a record:

    SQS       the record; `body` as JSON, if the body is an object or an array
    Kinesis   the members of `kinesis`; `data` as JSON, if the data is that
    DynamoDB  the record

A pattern with an object for `body` or `data` does not match text, and one with a list does not match JSON.
Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Callable, Mapping, Sequence

from redrive.core.documents import Document, load_json
from redrive.languages.event_pattern import Matcher, PatternError, parse
from redrive.services.lambda_.limits import FILTERS_MAX
from redrive.services.lambda_.model.function import invalid_parameter

_MATCHERS_KEPT = 256
_JSON_ONLY = {"kinesis": "data", "dynamodb": "dynamodb"}
"""The member of a stream's records that is JSON, so that its filter is an object."""

INVALID = "Invalid filter pattern definition."


def read_filters(criteria: Document | None, service: str) -> tuple[str, ...]:
    """The patterns of FilterCriteria.

    Errors: InvalidParameterValueException (a pattern that cannot be read, too many patterns).
    """
    patterns = tuple(str(one.get("Pattern") or "") for one in (criteria or {}).get("Filters") or ())
    if len(patterns) > FILTERS_MAX:
        raise invalid_parameter(f"The maximum number of filters per event source mapping is {FILTERS_MAX}.")
    for pattern in patterns:
        try:
            document = load_json(pattern)
            parse(pattern)
        except (PatternError, ValueError, RecursionError):
            raise invalid_parameter(INVALID) from None
        member = _JSON_ONLY.get(service)
        if not isinstance(document, dict) or (member in document and not isinstance(document[member], dict)):
            raise invalid_parameter(INVALID)
    return patterns


def passes(filters: tuple[str, ...], service: str, record: Document) -> bool:
    """Whether a record reaches the function."""
    if not filters:
        return True
    return bool(_matcher(filters).matching(_SEEN[service](record)))


@functools.lru_cache(maxsize=_MATCHERS_KEPT)
def _matcher(filters: tuple[str, ...]) -> Matcher:
    return Matcher.of({str(number): parse(pattern) for number, pattern in enumerate(filters)})


def _message(record: Document) -> Document:
    return {**record, "body": _json_or(str(record.get("body", "")), record.get("body"))}


def _kinesis(record: Document) -> Document:
    data = record["kinesis"]
    try:
        text = base64.b64decode(data["data"]).decode()
    except (binascii.Error, UnicodeDecodeError):
        return {name: value for name, value in data.items() if name != "data"}
    return {**data, "data": _json_or(text, text)}


def _change(record: Document) -> Document:
    return record


_SEEN: Mapping[str, Callable[[Document], Document]] = {"sqs": _message, "kinesis": _kinesis, "dynamodb": _change}


def _json_or(text: str, otherwise: object) -> object:
    """The JSON in a text; another value if the text is no object and no array."""
    if not text.lstrip().startswith(("{", "[")):
        return otherwise
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        return otherwise


def filters_document(filters: Sequence[str]) -> Document:
    """Filters in AWS's form."""
    return {"Filters": [{"Pattern": pattern} for pattern in filters]}
